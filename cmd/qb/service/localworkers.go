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
	"qb/internal/pause"
)

// Back-off between two starts of a worker that ends; after a longer run it starts afresh.
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
	slots int // of each
	wait  sync.WaitGroup
	end   context.CancelFunc // they are to stop their items and end, and no more are started
	limit time.Duration      // for that; then they are killed
}

type localWorker struct {
	name string
	args []string
}

// startWorkers starts the local workers: HOSTNAME, or HOSTNAME-1 … N.
func startWorkers(conf *service, log *slog.Logger, url string, o *farmOptions) (*localWorkers, error) {
	ctx, end := context.WithCancel(context.Background())
	w := &localWorkers{log: log, end: end, limit: conf.KillGrace.Std() + stopSlack,
		slots: cmp.Or(o.slots, conf.CPUs, runtime.NumCPU())}
	base, err := localName(conf)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to run workers with: %w", err)
	}
	for n := range o.hosts {
		one := &localWorker{name: base}
		if o.hosts > 1 {
			one.name = base + "-" + strconv.Itoa(n+1)
		}
		if one.args, err = workerArgs(conf, one.name, w.slots, url); err != nil {
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
		w.wait.Go(func() { w.keep(ctx, one, program) })
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

func workerArgs(conf *service, name string, slots int, url string) ([]string, error) {
	if conf.Socket != "" { // its path cannot be taken by another while the supervisor is away
		url = "unix:" + conf.Socket
	}
	args := []string{
		"qb", "worker", "-stop-items", "-supervisor", url, "-name", name, "-slots", strconv.Itoa(slots),
		"-state", filepath.Join(conf.SupervisorKeys.State, "workers", name),
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

// keep runs a worker again and again until ctx ends. The death signal follows the thread that forked, hence
// the lock: without it the worker would die when Go gives that thread up.
func (w *localWorkers) keep(ctx context.Context, one *localWorker, program string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for wait := restartLeast; ; wait = min(2*wait, restartMost) {
		began := time.Now()
		err := one.run(ctx, program, w.limit)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > ranWell {
			wait = restartLeast
		}
		w.log.Error("a local worker exited; restarting it", "host", one.name, "error", err, "in", wait)
		if pause.For(ctx, wait) != nil {
			return
		}
	}
}

// run returns when the worker has ended. When ctx ends, it gets TERM and, after limit, KILL.
func (one *localWorker) run(ctx context.Context, program string, limit time.Duration) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = one.args
	cmd.Env = workerEnvironment(os.Environ())
	cmd.Stdout = os.Stderr
	cmd.Stderr = os.Stderr
	// A group of its own: Ctrl-C is for qb farm, which then stops the workers in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, limit
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting worker %s: %w", one.name, err)
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("the worker ended by itself")
}

// workerEnvironment leaves out what is meant for this process alone.
func workerEnvironment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"QB_TOKEN", "QB_TOKEN_FILE", "QB_DATABASE_URL", "QB_SUPERVISOR", "QB_CONF"}, name)
	})
}

// stop lets the workers stop their items and end; the ones that have not within the limit are killed.
func (w *localWorkers) stop() {
	late := time.AfterFunc(w.limit, func() { w.log.Error("workers did not stop in time; killing them", "after", w.limit) })
	defer late.Stop()
	w.end()
	w.wait.Wait()
}

// retirePause is before each try to remove hosts: a living host is heard within it, and a host that may still run items
// stays.
const retirePause = 10 * time.Second

// retire removes the hosts that this farm started before and starts no more, once the leases of their items have ended.
// Their folders are left: started again they are the same hosts.
func (w *localWorkers) retire(ctx context.Context, conf *service, url string) {
	entries, err := os.ReadDir(filepath.Join(conf.SupervisorKeys.State, "workers"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("the farm's list of hosts cannot be read, so hosts that it no longer starts stay listed", "error", err)
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

// names are those of all workers.
func (w *localWorkers) names() []string {
	names := make([]string, len(w.all))
	for n, one := range w.all {
		names[n] = one.name
	}
	return names
}

// heard says whether the supervisor has heard a worker since it began.
func heard(hosts []api.Host, name string, began time.Time) bool {
	return slices.ContainsFunc(hosts, func(h api.Host) bool {
		return h.Name == name && (h.State == "up" || h.State == "locked") && h.LastSeenAt.After(began)
	})
}
