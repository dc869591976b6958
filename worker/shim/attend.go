package shim

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attend waits for a program until its whole tree is gone. It runs on the forker's thread, which has nothing else to do
// meanwhile. A process that ends soon and writes nothing, as most short ones do, needs no other goroutine. For a longer
// one, a goroutine reads the pipes, and orphans are reaped as they end.
func (s *shim) attend(p *program, pid, pidfd int, pipes [2]int, last bool) {
	pumped := func() { s.post(func() { p.pumped = true; s.advance(p) }) }
	silent := false
	if k := p.session; k != nil {
		go k.accept()
		go func() { p.pump.rest(); pumped() }()
	} else if silent = s.forker.waiter.silent(firstLook, pidfd, &pipes); silent {
		p.pump.run(pipes[0], pipes[1])
	} else {
		go func() { p.pump.run(pipes[0], pipes[1]); pumped() }()
	}
	s.reap(p, pid, silent)
	if p.session != nil {
		unlinked := make(chan bool)
		go func() { p.session.unlink(); close(unlinked) }() // as it was made
		<-unlinked
	}
	if last {
		s.forker.unseclude(p.order)
	}
}

// reap waits for every process of the tree, orphans too, until the kernel says that there is none.
func (s *shim) reap(p *program, pid int, pumped bool) {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		ended, err := unix.Wait4(-1, &status, 0, &usage)
		switch {
		case err == unix.EINTR:
		case err != nil:
			s.post(func() { p.treeGone = true; s.advance(p) })
			return
		default:
			p.meter.reaped(&usage)
			if ended != pid {
				continue
			}
			// Mostly it was alone; then nothing needs to be looked for and killed.
			alone := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
			s.post(func() {
				p.treeGone = alone
				p.pumped = p.pumped || pumped
				s.exited(p, syscall.WaitStatus(status))
			})
			if alone {
				return
			}
		}
	}
}

// waiter waits for a process and its pipes without holding a thread in the kernel: Go's runtime looks every few
// microseconds whether such a thread keeps something from the others.
type waiter struct {
	epoll int
	file  *os.File
	ready syscall.RawConn
}

func newWaiter() (*waiter, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that package os has the runtime wait for it
	}
	if err != nil {
		return nil, fmt.Errorf("making an epoll instance: %w", err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	ready, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("waiting for an epoll instance: %w", err)
	}
	return &waiter{fd, file, ready}, nil
}

// silent says whether a process ends within that time, without a word, and no other process holds its pipes. They are
// closed then. Else a pipe that has ended is -1, and the other is open.
func (w *waiter) silent(within time.Duration, pidfd int, pipes *[2]int) bool {
	if pidfd < 0 || w.file.SetReadDeadline(time.Now().Add(within)) != nil {
		return false
	}
	defer w.forget(pidfd, pipes[0], pipes[1]) // the kernel has forgotten what is closed
	for _, fd := range []int{pipes[0], pipes[1], pidfd} {
		if unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}) != nil {
			return false
		}
	}
	for ended := false; !ended; {
		var events [3]unix.EpollEvent
		count, err := w.next(events[:])
		if err != nil {
			return false
		}
		for _, e := range events[:count] {
			switch fd := int(e.Fd); {
			case fd == pidfd:
				ended = true
			case e.Events&unix.EPOLLIN != 0:
				return false
			default:
				closePipe(pipes, fd)
			}
		}
	}
	return *pipes == [2]int{-1, -1} // a process closes them before its end is seen
}

func closePipe(pipes *[2]int, fd int) {
	for n := range pipes {
		if pipes[n] == fd {
			unix.Close(fd)
			pipes[n] = -1
		}
	}
}

// next waits for events.
func (w *waiter) next(events []unix.EpollEvent) (count int, err error) {
	failed := w.ready.Read(func(uintptr) bool {
		count, err = unix.EpollWait(w.epoll, events, 0)
		return count != 0 && err != unix.EINTR
	})
	if failed != nil {
		return 0, failed
	}
	return count, err
}

func (w *waiter) forget(fds ...int) {
	for _, fd := range fds {
		_ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	}
}
