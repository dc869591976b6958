package shim

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/proc"
)

// workSocket is where the processes of a program that is kept ask and report, and others are refused.
type workSocket struct {
	s        *shim
	path     string
	listener *net.UnixListener
	places   chan struct{} // of connections
	gone     chan struct{} // closed when nothing of the program is left
}

func newWorkSocket(s *shim) workSocket {
	return workSocket{s: s, places: make(chan struct{}, workConns), gone: make(chan struct{})}
}

// listen makes the socket, which is its owner's. In a folder of the owner it is moved there when it is ready: what the
// owner may have put in its place would get the owner's rights.
func (w *workSocket) listen(o *RunCommand) (err error) {
	made := o.Session.Socket
	if o.Private.Temp != "" {
		made = o.Private.Temp + ".work"
	}
	_ = unix.Unlink(made) // of a shim that was killed
	if w.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"}); err != nil {
		return err
	}
	w.listener.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil && o.Login != nil {
		err = os.Lchown(made, int(o.Login.UID), int(o.Login.GID))
	}
	if err == nil && made != o.Session.Socket {
		err = os.Rename(made, o.Session.Socket)
	}
	w.path = o.Session.Socket
	return err
}

// unlink removes the socket, so that its folder can be removed.
func (w *workSocket) unlink() { _ = unix.Unlink(w.path) }

// close ends all connections.
func (w *workSocket) close() {
	close(w.gone)
	if w.listener != nil {
		w.listener.Close()
	}
}

// accept serves connections until the socket is closed.
func (k *session) accept() {
	for {
		conn, err := k.listener.AcceptUnix()
		if err != nil {
			select {
			case <-k.gone:
				return
			case <-time.After(100 * time.Millisecond): // out of descriptors, perhaps
				continue
			}
		}
		select {
		case k.places <- struct{}{}:
			go k.serve(conn)
		default:
			say(conn, refuse(api.ProgramRefused, "the program has %d connections already, and no more are served; close one",
				workConns))
			conn.Close()
		}
	}
}

// serve answers one connection, a request at a time.
func (k *session) serve(conn *net.UnixConn) {
	over := make(chan struct{})
	defer func() {
		close(over)
		conn.Close()
		<-k.places
	}()
	go func() { // what is read of it ends when the program does
		select {
		case <-k.gone:
			conn.Close()
		case <-over:
		}
	}()
	if pid := peer(conn); !descends(pid, os.Getpid()) {
		say(conn, refuse(api.ProgramRefused, "process %d is none of the program's own; only processes that the program started may ask here",
			pid))
		return
	}
	for lines := bufio.NewReader(conn); ; {
		request, refusal, err := readRequest(lines)
		if refusal.Error != "" {
			if !say(conn, refusal) || err != nil {
				return
			}
			continue
		}
		if err != nil {
			return
		}
		a := &asked{ProgramRequest: request, reply: make(chan api.ProgramReply, 1)}
		k.s.post(func() { k.hear(a) })
		select {
		case r := <-a.reply:
			if !say(conn, r) {
				if a.unsent != nil {
					k.s.post(a.unsent)
				}
				return
			}
		case <-k.gone:
			return
		}
	}
}

// say writes a reply, and says whether that is possible.
func say(conn net.Conn, r api.ProgramReply) bool {
	r.Version = api.ProgramVersion
	line, err := json.Marshal(r)
	return err == nil && WriteMessage(conn, append(line, '\n'), workWrite) == nil
}

// peer is the process that made the connection; 0 if the kernel does not know.
func peer(conn *net.UnixConn) (pid int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(c.Pid)
		}
	})
	return pid
}

// descends says whether a process is one of root's, which is the parent of whatever of them has lost its own.
func descends(pid, root int) bool {
	const deepest = 1000
	for range deepest {
		p, ok := proc.Read(pid)
		if !ok || p.Parent <= 1 {
			return false
		}
		if p.Parent == root {
			return true
		}
		pid = p.Parent
	}
	return false
}
