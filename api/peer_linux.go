package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	overflowUID  = 65534           // the id that the kernel gives for users that it cannot name here; no account has it
	acceptWithin = 2 * time.Second // a connection that its process has not taken yet has no owner
)

// mayDial allows every address: admit looks who answers there.
func (g guard) mayDial() error { return nil }

// admit refuses a peer on this machine that may not be the supervisor, and one elsewhere unless TLS proves who it is.
func (g guard) admit(ctx context.Context, c net.Conn) error {
	if g.secure {
		return nil
	}
	uid, here, err := peerOf(ctx, c)
	switch {
	case !here:
		return &Error{Kind: KindUsage, Unsent: true, Text: fmt.Sprintf(
			"nothing was sent to %s: it is another machine, and a token would cross the network unencrypted; use https://",
			g.shown)}
	case err != nil:
		return &Error{Kind: KindUnavailable, Unsent: true, Text: fmt.Sprintf(
			"nothing was sent to %s: the kernel does not say which account answers there (%v); if the supervisor runs, use its socket: -supervisor unix:PATH", g.shown, err)}
	case g.admits(uid):
		return nil
	}
	remedy := "name the account in client_trusted_users if it runs your supervisor"
	if _, isSocket := c.(*net.UnixConn); !isSocket {
		remedy = "use the supervisor's socket, such as -supervisor unix:" + RunFolder + "/qb.sock, or " + remedy
	}
	return &Error{Kind: KindUnavailable, Unsent: true, Text: fmt.Sprintf(
		"nothing was sent to %s: %s answers there, who is neither root, nor you, nor the account of the service; %s", g.shown,
		accountName(uid), remedy)}
}

func (g guard) admits(uid uint32) bool {
	if uid == overflowUID {
		return false
	}
	if uid == 0 || int(uid) == os.Geteuid() || slices.Contains(g.trusted, uid) {
		return true
	}
	return slices.ContainsFunc([]string{RunFolder, StateFolder}, func(dir string) bool {
		owner, ok := appointed(dir)
		return ok && owner == uid
	})
}

// appointed is the account to which root gave a folder: no other user could have made one there.
func appointed(dir string) (uint32, bool) {
	above, errAbove := os.Lstat(filepath.Dir(dir))
	at, err := os.Lstat(dir)
	if err != nil || errAbove != nil || !above.IsDir() || !at.IsDir() {
		return 0, false
	}
	byRoot := above.Sys().(*syscall.Stat_t).Uid == 0 && above.Mode().Perm()&0o022 == 0
	return at.Sys().(*syscall.Stat_t).Uid, byRoot
}

func accountName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return fmt.Sprintf("user %q (uid %s)", u.Username, id)
	}
	return "uid " + id
}

var (
	errNotAccepted = errors.New("the connection was not accepted in time")
	errNoSocket    = errors.New("the kernel lists no such socket here")
)

// peerOf is the account at the other end of a connection, if that is on this machine.
func peerOf(ctx context.Context, c net.Conn) (uid uint32, here bool, err error) {
	switch c := c.(type) {
	case *net.UnixConn:
		uid, err = unixPeer(c)
		return uid, true, err
	case *net.TCPConn:
		local, remote := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().(*net.TCPAddr)
		if !isHere(local.IP, remote.IP) {
			return 0, false, nil
		}
		uid, err = tcpPeer(ctx, socketPair{local: remote.AddrPort(), remote: local.AddrPort()})
		return uid, true, err
	}
	return 0, true, fmt.Errorf("%T is no connection that the kernel vouches for", c)
}

// isHere says whether the other end of a connection is on this machine.
func isHere(local, remote net.IP) bool { return remote.IsLoopback() || remote.Equal(local) }

// AccountOf is the account of the process that has opened a connection, if it is on this machine; an error: the kernel
// does not name it, for instance since it is gone.
func AccountOf(c net.Conn) (uid uint32, here bool, err error) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return peerOf(context.Background(), c) // which does not wait
	}
	local, remote := t.LocalAddr().(*net.TCPAddr), t.RemoteAddr().(*net.TCPAddr)
	if !isHere(local.IP, remote.IP) {
		return 0, false, nil
	}
	owner, err := socketPair{local: remote.AddrPort(), remote: local.AddrPort()}.owner()
	if err == nil && owner.inode == 0 { // older kernels then name root
		err = errNoSocket
	}
	return owner.uid, true, err
}

// unixPeer is who listens on the socket.
func unixPeer(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, asked
	}
	return cred.Uid, nil
}

// tcpPeer finds the owner of the socket at the other end. Before a process has accepted the connection the socket has
// none, and older kernels then name root.
func tcpPeer(ctx context.Context, pair socketPair) (uint32, error) {
	for began, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		owner, err := pair.owner()
		switch {
		case err == nil && owner.inode != 0:
			return owner.uid, nil
		case err == nil:
			err = errNotAccepted
		case !errors.Is(err, errNoSocket):
			return 0, err
		}
		if time.Since(began) > acceptWithin {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}
