package worker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
	"qb/worker/tree"
)

// fork declares the instance and starts its shim, which inherits the lock and the listening socket.
func (l *shimConn) fork(first api.AttemptID) error {
	l.first = first
	l.mark = rand.Text()
	l.tree = tree.New(l.a.groupKinds, l.mark)
	lock, err := l.a.state.declare(shim.Intent{
		Key: l.key, Attempt: first, Boot: l.a.boot, Mark: l.mark, LoadOnce: l.loadOnce, Names: l.tree,
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	listener, err := shim.ListenIn(l.dir)
	if err != nil {
		return fmt.Errorf("listening in %s: %w", l.dir, err)
	}
	defer listener.Close()
	socket, err := listener.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	errs, err := os.OpenFile(filepath.Join(l.dir, "err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer errs.Close()
	child := exec.Cmd{
		Path: l.a.shim[0], Args: append(slices.Clone(l.a.shim[1:]), l.dir), Dir: "/", Env: shim.Environment(),
		Stderr: errs, ExtraFiles: []*os.File{lock, socket}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := shim.AtEase(child.Start); err != nil {
		return err
	}
	go child.Wait()
	return nil
}

// adopt takes up what a former agent left: shims that run on, and ends that were never reported.
func (a *agent) adopt() (core.Booted, error) {
	booted := core.Booted{Held: a.state.term()}
	intents, err := a.state.intents(a.boot)
	if err != nil {
		return booted, err
	}
	found := make([]*core.Adopted, len(intents))
	var wait sync.WaitGroup
	for i, in := range intents {
		l := a.newShimConn(in.Key)
		l.mark, l.tree = in.Mark, in.Names
		wait.Go(func() { found[i] = l.adopt(in) })
		a.conns[in.Key] = l
	}
	wait.Wait()
	records, torn, err := a.state.spool().Load(a.boot)
	if err != nil {
		return booted, err
	}
	for _, name := range torn {
		a.log.Error("a record in the spool is incomplete and is ignored; its item counts as lost unless it still runs",
			"record", name)
	}
	ended := map[api.AttemptID]bool{}
	for _, f := range records {
		ended[f.Attempt] = true
	}
	running, loaded := map[api.AttemptID]bool{}, map[api.AttemptID]bool{}
	for i, in := range intents {
		adopted := found[i]
		if adopted == nil {
			delete(a.conns, in.Key)
			continue
		}
		if adopted.State == core.StateUnknown && ended[adopted.Attempt] {
			adopted.State = core.StateIdle
			a.conns[in.Key].ended, a.conns[in.Key].reported = true, closedChannel()
		}
		loaded[in.Attempt] = true
		running[adopted.Attempt] = adopted.State != core.StateIdle && adopted.State != core.StateClosing
		booted.Instances = append(booted.Instances, *adopted)
	}
	for _, f := range records {
		if !running[f.Attempt] { // else its shim says it again, in its turn
			booted.Finished = append(booted.Finished, f)
		}
	}
	return booted, a.adoptLogs(running, loaded)
}

// adopt connects to the instance's shim. Nil says that the instance is over and its record, if any, is
// in the spool.
func (l *shimConn) adopt(in shim.Intent) *core.Adopted {
	now, err := readNow(l.dir)
	l.first, l.attempt = in.Attempt, in.Attempt
	l.ended = false
	l.loadOnce = in.LoadOnce
	l.reported = make(chan struct{})
	if err == nil {
		l.attempt = now.Attempt
	}
	if lockFree(l.dir) {
		if l.buried(err == nil && now.Ended) {
			return nil
		}
	} else if h, ok := l.ask(); ok {
		l.attempt, l.ended = h.Attempt, h.State == core.StateIdle
		if l.ended {
			l.reported = closedChannel()
		}
		if h.Attempt == (api.AttemptID{}) { // never got an order: nothing of it ever ran
			l.closing = &shim.Ending{}
			l.send(shim.Command{Close: true})
			return &core.Adopted{Key: l.key, State: core.StateClosing}
		}
		l.log.Info("instance adopted", "attempt", shim.AttemptName(h.Attempt), "state", h.State)
		return &core.Adopted{Key: l.key, Attempt: h.Attempt, State: h.State, Loaded: h.Loaded}
	}
	l.retry.Reset(l.pause)
	return &core.Adopted{Key: l.key, Attempt: l.attempt, State: core.StateUnknown}
}

// buried kills what is left of an instance whose shim is dead, makes sure that the spool has the record of its end, and
// removes the instance. It returns false if a step fails, so that the caller tries again later. Ended says that the
// shim had written that record. If it had and the spool has none now, the supervisor has acknowledged the record.
func (l *shimConn) buried(ended bool) bool {
	if !l.cleared() {
		if again := l.cleared(); !again { // a child that was dying at the first look
			return false
		}
	}
	_, err := l.a.state.spool().Get(l.attempt)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrNotExist) && ended: // reported, and released
	case errors.Is(err, os.ErrNotExist), errors.Is(err, shim.ErrTorn):
		if _, err := l.record(); err != nil {
			return false
		}
	default:
		return false
	}
	l.discard()
	return true
}

func (l *shimConn) ask() (shim.Hello, bool) {
	l.wake()
	if !l.connect() {
		return shim.Hello{}, false
	}
	select {
	case h := <-l.heard:
		if h.err == nil && h.message.Hello != nil {
			return *h.message.Hello, true
		}
	case <-time.After(helloWait):
	}
	l.hangUp()
	return shim.Hello{}, false
}

// adoptLogs ships what was not shipped: to the end if what writes it has ended, else on and on.
func (a *agent) adoptLogs(running, loaded map[api.AttemptID]bool) error {
	entries, err := os.ReadDir(filepath.Join(a.state.root, "log"))
	if err != nil {
		return fmt.Errorf("reading the logs: %w", err)
	}
	for _, entry := range entries {
		attempt, session, ok := shim.LogOf(entry.Name())
		id := logID{attempt, session}
		switch {
		case !ok:
		case !session && running[attempt], session && loaded[attempt]:
			a.ships.follow(id)
		default:
			a.ships.finish(id, func() {})
		}
	}
	return nil
}
