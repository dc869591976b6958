package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/internal/pause"
	"qb/internal/statedir"
)

// How the keeper goes on after a server has died.
const (
	readyPoll   = 5 * time.Millisecond
	steadyAfter = time.Minute // a server that was ready so long ends a row of deaths
	logMax      = 16 << 20    // bytes; a larger log is put aside at the next start
)

// patience is how often a server may die in a row before it is given up, and the pauses between.
type patience struct {
	deaths      int
	first, most time.Duration
}

var usualPatience = patience{deaths: 10, first: 100 * time.Millisecond, most: 5 * time.Second}

var errStopped = errors.New("stopped")

// keep runs the server, again whenever it dies, until Stop or until it gives up. The result of the first start
// goes to first. The goroutine stays on its thread: the death signal comes when the thread that forked ends, and
// Go ends threads when it likes.
func (c *Cluster) keep(ctx context.Context, first chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // else the thread ends, and with it what else it has forked
	defer close(c.ended)
	started := false
	for deaths := 0; ; {
		readyFor, err := c.runOnce(ctx, first)
		if errors.Is(err, errStopped) {
			offer(first, errStopped)
			return
		}
		if (started || readyFor > 0) && c.full(err) {
			started = true
			deaths = 0
			ctx = c.life
			if !c.awaitRoom() {
				return
			}
			continue
		}
		if started = started || readyFor > 0; !started {
			offer(first, err)
			return
		}
		ctx = c.life // the caller's context bounds the first start only
		if deaths++; readyFor > steadyAfter {
			deaths = 1
		}
		c.log.Error("the private Postgres died", "error", err, "deaths", deaths)
		if deaths >= c.cfg.patience.deaths {
			offer(c.failed, fmt.Errorf("the private Postgres died %d times in a row, last: %w", deaths, err))
			return
		}
		if pause.For(c.life, min(c.cfg.patience.first<<(deaths-1), c.cfg.patience.most)) != nil {
			return
		}
	}
}

func offer(ch chan<- error, err error) {
	select {
	case ch <- err:
	default:
	}
}

// runOnce clears the way, starts a server and waits for its end; it says how long the server was ready.
func (c *Cluster) runOnce(ctx context.Context, first chan<- error) (time.Duration, error) {
	if err := c.preflight(ctx); err != nil {
		return 0, err
	}
	log, err := openLog(c.logfile)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	from, _ := log.Seek(0, io.SeekEnd)
	cmd := c.serverCommand(log)
	if err := c.launch(cmd); err != nil {
		return 0, err
	}
	exited := make(chan struct{})
	ready := make(chan time.Time, 1)
	go func() {
		if c.awaitReady(cmd.Process.Pid, exited) {
			ready <- time.Now()
			offer(first, nil)
		}
		close(ready)
	}()
	_ = cmd.Wait() // the server's own log has the reason of its end
	close(exited)
	stopped := c.landed()
	var readyFor time.Duration
	if since, ok := <-ready; ok {
		readyFor = max(time.Since(since), 1)
	}
	if stopped {
		return readyFor, errStopped
	}
	return readyFor, fmt.Errorf("postgres ended: %v\n%s", cmd.ProcessState, tail(c.logfile, from))
}

// launch starts the server unless Stop was called; one lock covers both, so that Stop never misses a server.
func (c *Cluster) launch(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return errStopped
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	c.process = cmd.Process
	return nil
}

func (c *Cluster) landed() (stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process, c.pid = nil, 0
	return c.stopping
}

// serverCommand starts postgres itself, not pg_ctl: the server must be our child, to get our death signal and to
// be waited for.
func (c *Cluster) serverCommand(log *os.File) *exec.Cmd {
	args := []string{"-D", c.data, "-p", port, "-k", c.sockets}
	settings := []string{
		"listen_addresses=", "unix_socket_permissions=0700", "max_connections=60", "cluster_name=qb",
		"timezone=UTC", "log_timezone=UTC", "logging_collector=off", "log_destination=stderr", "jit=off",
		// Containers give 64 MB of /dev/shm.
		"dynamic_shared_memory_type=mmap", "max_parallel_workers_per_gather=0",
	}
	if c.cfg.Fast {
		// Commits stay synchronous: what was committed must outlive a killed server in tests too.
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := c.command(context.Background(), "postgres", args...)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGINT // fast shutdown
	cmd.Stdout, cmd.Stderr = log, log
	return cmd
}

// awaitReady polls until postmaster.pid names our child and says "ready"; false if the child ended first. It has
// no limit of its own: replaying a long log after a crash must not be cut short.
func (c *Cluster) awaitReady(pid int, exited <-chan struct{}) bool {
	for {
		text, _ := os.ReadFile(filepath.Join(c.data, "postmaster.pid"))
		lines := strings.Split(string(text), "\n")
		if len(lines) >= 8 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready" {
			return c.noteReady(pid)
		}
		select {
		case <-exited:
			return false
		case <-time.After(readyPoll):
		}
	}
}

func (c *Cluster) noteReady(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil || c.process.Pid != pid {
		return false
	}
	c.pid = pid
	c.trouble.Store(nil)
	return true
}

// openLog opens the server's log for appending; a large log is moved aside first.
func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > logMax {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("putting the old Postgres log aside: %w", err)
		}
	}
	f, err := statedir.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the Postgres log: %w", err)
	}
	return f, nil
}

// tail reads the last lines of what was logged since from.
func tail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-8<<10)
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, from, 8<<10))
	return lastLines(string(text))
}
