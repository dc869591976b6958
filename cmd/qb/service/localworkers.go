package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"qb/api"
	"qb/pause"
)

// Back-off between two starts of a worker that ends; one that ran a while starts afresh.
const (
	restartLeast = 200 * time.Millisecond
	restartMost  = 10 * time.Second
	ranWell      = 30 * time.Second
)

// localWorkers are the worker processes of a qb farm. They are processes, not goroutines, so that a
// worker's death and the supervisor's are two different things here as everywhere.
type localWorkers struct {
	log   *slog.Logger
	all   []*localWorker
	wait  sync.WaitGroup
	ended chan struct{} // closed when no more are to be started
}

type localWorker struct {
	name  string
	slots int
	args  []string

	mu       sync.Mutex
	process  *os.Process
	stopping bool
}

// startWorkers starts the local workers: HOSTNAME, or HOSTNAME-1 … N.
func startWorkers(conf *service, log *slog.Logger, url string, o *farmOptions) (*localWorkers, error) {
	w := &localWorkers{log: log, ended: make(chan struct{})}
	base, err := localName(conf)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to run workers with: %w", err)
	}
	for n := range o.hosts {
		one := &localWorker{name: base, slots: cmp.Or(o.slots, conf.CPUs, runtime.NumCPU())}
		if o.hosts > 1 {
			one.name = base + "-" + strconv.Itoa(n+1)
		}
		if one.args, err = workerArgs(conf, one, url); err != nil {
			return nil, err
		}
		if !o.verbose {
			one.args = append(one.args, "-quiet")
		}
		if n > 0 { // they share the machine, and a GPU must not be given twice
			one.args = append(one.args, "-no-devices")
		}
		w.all = append(w.all, one)
	}
	for _, one := range w.all {
		w.wait.Go(func() { w.keep(one, program) })
	}
	return w, nil
}

func localName(conf *service) (string, error) {
	if conf.WorkerKeys.Name != "" {
		return conf.WorkerKeys.Name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the host's name cannot be read; set worker_name: %w", err)
	}
	name, _, _ = strings.Cut(name, ".")
	return name, nil
}

func workerArgs(conf *service, one *localWorker, url string) ([]string, error) {
	if conf.Socket != "" { // its path cannot be taken by another while the supervisor is away
		url = "unix:" + conf.Socket
	}
	args := []string{
		"qb", "worker", "-stop-items", "-supervisor", url, "-name", one.name, "-slots", strconv.Itoa(one.slots),
		"-state", filepath.Join(conf.SupervisorKeys.State, "workers", one.name),
		"-token_file", conf.tokenFile(api.Worker),
	}
	if _, set := conf.Origins["worker_allow_root"]; !set && os.Geteuid() == 0 { // who started it is root of this machine
		args = append(args, "-allow_root")
	}
	if conf.Named { // else they find what is found here
		file, err := filepath.Abs(conf.File)
		if err != nil {
			return nil, fmt.Errorf("finding the configuration again: %w", err)
		}
		args = append(args, "-conf", file)
	}
	return args, nil
}

// keep runs a worker again and again until stop. The death signal follows the thread that forked, hence
// the lock: without it the worker would die when Go gives that thread up.
func (w *localWorkers) keep(one *localWorker, program string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pause := restartLeast
	for {
		began := time.Now()
		err := one.run(program)
		if one.isStopping() {
			return
		}
		if time.Since(began) > ranWell {
			pause = restartLeast
		}
		w.log.Error("a local worker exited; restarting it", "host", one.name, "error", err, "in", pause)
		select {
		case <-w.ended:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, restartMost)
	}
}

func (one *localWorker) run(program string) error {
	cmd := &exec.Cmd{
		Path: program, Args: one.args, Env: workerEnvironment(os.Environ()), Stdout: os.Stderr, Stderr: os.Stderr,
		// A group of its own: Ctrl-C is for qb farm, which then stops the workers in order.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	one.mu.Lock()
	if one.stopping {
		one.mu.Unlock()
		return nil
	}
	err := cmd.Start()
	if err == nil {
		one.process = cmd.Process
	}
	one.mu.Unlock()
	if err != nil {
		return fmt.Errorf("starting worker %s: %w", one.name, err)
	}
	err = cmd.Wait()
	one.mu.Lock()
	one.process = nil
	one.mu.Unlock()
	if err == nil {
		err = errors.New("it ended by itself")
	}
	return err
}

// workerEnvironment leaves out what is meant for this process alone.
func workerEnvironment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"QB_TOKEN", "QB_TOKEN_FILE", "QB_DATABASE_URL", "QB_SUPERVISOR", "QB_CONF"}, name)
	})
}

func (one *localWorker) isStopping() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.stopping
}

func (one *localWorker) signal(sig syscall.Signal) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.stopping = true
	if one.process != nil {
		_ = one.process.Signal(sig) // it may have just ended
	}
}

// stop lets the workers stop their items and end; those that have not within the limit are killed.
func (w *localWorkers) stop(limit time.Duration) {
	close(w.ended)
	for _, one := range w.all {
		one.signal(syscall.SIGTERM)
	}
	done := make(chan struct{})
	go func() { w.wait.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-time.After(limit):
	}
	w.log.Error("workers did not stop in time; killing them", "after", limit)
	for _, one := range w.all {
		one.signal(syscall.SIGKILL)
	}
	<-done
}

// retirePause is before each try to remove hosts: a living host is heard within it, and one that may still run items stays.
const retirePause = 10 * time.Second

// retire removes the hosts that this farm started before and starts no more, once the leases of their items have ended.
// Their folders are left: whoever starts them again has the same hosts.
func (w *localWorkers) retire(ctx context.Context, conf *service, url string) {
	entries, err := os.ReadDir(filepath.Join(conf.SupervisorKeys.State, "workers"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("cannot look for hosts of this farm that are no longer started", "error", err)
	}
	var old []string
	for _, entry := range entries {
		if !slices.ContainsFunc(w.all, func(one *localWorker) bool { return one.name == entry.Name() }) {
			old = append(old, entry.Name())
		}
	}
	for len(old) > 0 && pause.For(ctx, retirePause) == nil {
		c, err := adminClient(conf, url)
		if err != nil {
			w.log.Warn("cannot remove hosts of this farm that are no longer started", "hosts", old, "error", err)
			return
		}
		old = slices.DeleteFunc(old, func(host string) bool {
			err := c.Call(ctx, api.RemoveHost, api.Params{"host": host}, nil, nil)
			if err == nil {
				w.log.Info("host removed, as this farm no longer starts it", "host", host)
			}
			return err == nil || api.Refusal(err).Kind == api.KindNotFound
		})
		c.CloseIdle()
	}
}

func (w *localWorkers) slots() int {
	total := 0
	for _, one := range w.all {
		total += one.slots
	}
	return total
}

// missing are the workers that the supervisor has not heard since they began.
func (w *localWorkers) missing(hosts []api.Host, began time.Time) []string {
	var names []string
	for _, one := range w.all {
		heard := slices.ContainsFunc(hosts, func(h api.Host) bool {
			return h.Name == one.name && (h.State == "up" || h.State == "locked") && h.LastSeenAt.After(began)
		})
		if !heard {
			names = append(names, one.name)
		}
	}
	return names
}
