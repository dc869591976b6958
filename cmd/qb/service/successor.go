package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"qb/api"
	"qb/cmd/qb/find"
	"qb/internal/pause"
	"qb/supervisor/access/listeners"
)

// errRestart says that a service is to end, and the program that is there now to take its place.
var errRestart = errors.New("a restart was ordered")

// ports are the addresses of a running supervisor, which its successor takes over: a port that was free in between
// would be anybody's.
type ports struct {
	given *listeners.Inherited
	open  atomic.Pointer[listeners.Listeners]
	asked chan os.Signal
}

// newPorts takes the listeners that this process was started with, before it starts others, and catches the signal by
// which -restart orders a restart.
func newPorts() (*ports, error) {
	p := &ports{asked: make(chan os.Signal, 1)}
	signal.Notify(p.asked, syscall.SIGUSR2)
	var err error
	p.given, err = listeners.Inherit()
	return p, err
}

// become ends the service and replaces this process by the program that is there now. It returns only if that fails.
func (p *ports) become(stop func() error) error {
	held, err := p.open.Load().NewSuccessor()
	if err != nil {
		return errors.Join(err, stop())
	}
	defer held.Close()
	if err := stop(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return held.Exec(program, os.Args, os.Environ())
}

// orderRestart has the service of this state folder restart, and returns when that is ready again.
func (c *service) orderRestart(ctx context.Context) error {
	pid, err := c.holderOfSocket(ctx)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGUSR2)
	}
	if err != nil {
		return api.Errorf(api.KindUnavailable, "the farm of %s cannot be restarted: %v; start it if it does not run",
			c.SupervisorKeys.State, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin+stopSlack+time.Duration(c.KillGrace))
	defer cancel()
	name := filepath.Join(c.SupervisorKeys.State, find.FarmJSON)
	for _, there := range []bool{false, true} {
		for {
			_, err := os.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) != there {
				break
			}
			if syscall.Kill(pid, 0) != nil {
				return api.Errorf(api.KindUnavailable, "the farm has ended and did not start again; its log says why")
			}
			if err := pause.For(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("waiting for the farm to restart: %w", err)
			}
		}
	}
	return nil
}

// holderOfSocket is the process that has the supervisor's socket, as the kernel says.
func (c *service) holderOfSocket(ctx context.Context) (int, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *syscall.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		peer, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, asked
	}
	if int(peer.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return 0, fmt.Errorf("user id %d runs the farm; use that account or root", peer.Uid)
	}
	return int(peer.Pid), nil
}
