package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/internal/pause"
)

// How long left-over processes get to end, from the first signal on.
const (
	orphanFast      = 4 * time.Second  // a postmaster, after SIGINT; then SIGQUIT
	orphanImmediate = 6 * time.Second  // backends, after SIGQUIT; then SIGKILL
	orphanGiveUp    = 20 * time.Second // then the start fails
	orphanPoll      = 10 * time.Millisecond
)

// preflight ends processes that an earlier server left running on the data folder and then removes its lock files. A
// crash leaves postmaster.pid behind, perhaps empty, perhaps with a pid that now is another program's or a zombie. Only
// the absence of processes that work in the folder proves that no server runs on it.
func (l *layout) preflight(ctx context.Context) error {
	if err := l.clear(ctx, l.data); err != nil {
		return err
	}
	for _, path := range []string{filepath.Join(l.data, "postmaster.pid"), l.socket(), l.socket() + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a stale lock: %w", err)
		}
	}
	return nil
}

// clear ends every server process that works in dir.
func (l *layout) clear(ctx context.Context, dir string) error {
	began := time.Now()
	sent := map[int]syscall.Signal{}
	for {
		left := serverProcesses(dir)
		if len(left) == 0 {
			return nil
		}
		age := time.Since(began)
		if age > orphanGiveUp {
			return fmt.Errorf(
				"processes of an earlier Postgres on %s do not end even when killed: %v; end them, or restart the machine", dir,
				left)
		}
		if len(sent) == 0 {
			l.log.Warn("ending what an earlier Postgres left running", "folder", dir, "processes", fmt.Sprint(left))
		}
		for _, p := range left {
			if sig := orphanSignal(p, left, age); sig != 0 && sent[p.pid] != sig {
				sent[p.pid] = sig
				p.signal(dir, sig)
			}
		}
		if err := pause.For(ctx, orphanPoll); err != nil {
			return fmt.Errorf("waiting for an earlier Postgres on %s to end: %w", dir, err)
		}
	}
}

// orphanSignal: a living postmaster ends its backends itself, and cleanly; backends without a postmaster get the signal
// directly.
func orphanSignal(p serverProcess, all []serverProcess, age time.Duration) syscall.Signal {
	headed := slices.ContainsFunc(all, func(q serverProcess) bool { return q.postmaster })
	switch {
	case headed && age > orphanFast+orphanImmediate, !headed && age > orphanImmediate:
		return syscall.SIGKILL
	case headed && p.postmaster && age <= orphanFast:
		return syscall.SIGINT
	case headed && !p.postmaster && age <= orphanFast:
		return 0
	}
	return syscall.SIGQUIT
}

// serverProcess is a process of a Postgres server.
type serverProcess struct {
	pid        int
	postmaster bool
}

func (p serverProcess) String() string { return strconv.Itoa(p.pid) }

// signal sends sig, through a handle so that a reused pid is not hit.
func (p serverProcess) signal(dir string, sig syscall.Signal) {
	proc, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer proc.Release()
	if _, still := lookAt(p.pid, dir); still {
		_ = proc.Signal(sig) // it may have just ended
	}
}

// serverProcesses lists those whose working folder is dir. Zombies have none, so they drop out; a shell that
// somebody left there is no server and is spared.
func serverProcesses(dir string) []serverProcess {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []serverProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := lookAt(pid, dir); ok {
			found = append(found, p)
		}
	}
	return found
}

func lookAt(pid int, dir string) (serverProcess, bool) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	exe, err := os.Readlink(filepath.Join(proc, "exe"))
	if err != nil {
		return serverProcess{}, false
	}
	switch filepath.Base(strings.TrimSuffix(exe, " (deleted)")) {
	case "postgres", "postmaster":
	default:
		return serverProcess{}, false
	}
	cwd, err1 := os.Stat(filepath.Join(proc, "cwd"))
	want, err2 := os.Stat(dir)
	if err1 != nil || err2 != nil || !os.SameFile(cwd, want) {
		return serverProcess{}, false
	}
	// Backends rewrite their command line to "postgres: what they do".
	line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	return serverProcess{pid, !bytes.HasPrefix(line, []byte("postgres: "))}, true
}
