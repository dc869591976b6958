package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/api/pin"
	"qb/cmd/qb/commandline"
	"qb/internal/pause"
	"qb/internal/units"
	"qb/supervisor/access/certs"
	"qb/supervisor/store/postgres"
)

// benchOptions are what `qb bench` measures.
type benchOptions struct {
	hosts, slots, jobs, items int
	width, submitters         int
	arrivals                  float64
	database, profile, heap   string
	duration, limit           time.Duration
	seed                      uint64
	standstill, tls, overload bool
	real, restart             bool
	loadOnce                  bool
	ended                     int
}

// newCommand is the program.
func newCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use: "qb-bench", Short: "Benchmark a farm: real supervisor, Postgres and HTTP, simulated hosts",
		Args: commandline.WantArgs(0, 0, ""), RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.hosts, "hosts", 100, "`N` simulated hosts")
	flags.IntVar(&o.slots, "slots", 16, "`N` slots per host")
	flags.IntVar(&o.jobs, "jobs", 10, "`N` jobs; 0 with -arrivals and -seconds: none but these")
	flags.IntVar(&o.width, "width", 0, "at most `N` slots for a job; 0: all that it can have")
	flags.Float64Var(&o.arrivals, "arrivals", 0,
		"let `N` jobs of 4 items arrive per second during the run, and measure what they wait for")
	flags.IntVar(&o.items, "items", 200_000, "`N` items in all jobs together")
	flags.Var((*units.Span)(&o.limit), "seconds", "stop after `DURATION`, such as 90 (seconds) or 5m; 0: after the last item")
	flags.StringVar(&o.database, "database", "", "`URL` of an empty Postgres database (default: a private server)")
	flags.Var((*units.Span)(&o.duration), "duration", "mean run time of an item, a `DURATION`, exponentially distributed; 0: none")
	flags.Uint64Var(&o.seed, "seed", 1, "`N` that seeds the run times")
	flags.BoolVar(&o.standstill, "standstill", false,
		"measure how long submissions wait while all slots are filled and all hosts are lost")
	flags.BoolVar(&o.overload, "overload", false,
		"measure what is done when twice as much is demanded as can be, and whether all hosts stay up")
	flags.IntVar(&o.submitters, "submitters", 0,
		"measure how fast `N` clients submit jobs of one item, -jobs of them together, beside no hosts")
	flags.BoolVar(&o.real, "real", false,
		"let real workers run true, beside a loop that does nothing but start it; -seconds is the length of a window (10)")
	flags.BoolVar(&o.loadOnce, "loadonce", false,
		"with -real: give the items to programs that stay loaded and do nothing with them")
	flags.BoolVar(&o.restart, "restart", false,
		"measure how long a supervisor takes to lead again after kill -9 while all slots are in use, and what that costs")
	flags.IntVar(&o.ended, "ended", 0, "with -restart: `N` ended attempts of the unfinished jobs beside those that run")
	flags.StringVar(&o.profile, "profile", "", "write a profile of the supervisor's processor time to `FILE`")
	flags.StringVar(&o.heap, "heap", "", "write what the supervisor has in memory at the end to `FILE`, for go tool pprof")
	flags.BoolVar(&o.tls, "tls", false,
		"let hosts and commands use TLS; the throughput with and without it tells what it costs")
	return cmd
}

// benchRun is one run: two child processes and what is known of them.
type benchRun struct {
	benchOptions
	state  string
	farm   *exec.Cmd
	hosts  *exec.Cmd
	stop   io.WriteCloser // its end ends the hosts; takes mean run times
	report *bytes.Buffer
	file   struct { // STATE/farm.json of the farm that is measured
		URL         string `json:"url"`
		TokenFile   string `json:"token_file"`
		DatabaseURL string `json:"database_url"`
	}
	client *api.Client

	address string // that the farm is to listen on again; empty: any
}

func (o *benchOptions) run(ctx context.Context, out, errOut io.Writer) error {
	if o.submitters > 0 {
		o.items = o.jobs
	}
	if err := o.check(); err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "qb-bench-")
	if err != nil {
		return fmt.Errorf("making a folder for the run: %w", err)
	}
	defer os.RemoveAll(state)
	if err := os.Chmod(state, 0o755); err != nil { // the database's own user must enter
		return err
	}
	b := &benchRun{benchOptions: *o, state: state, report: &bytes.Buffer{}}
	defer b.end()
	if err := b.startFarm(errOut); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if b.standstill {
		result, err := b.stand(ctx, errOut)
		if err != nil {
			return err
		}
		return errors.Join(encoder.Encode(result), b.verify(ctx, 0))
	}
	if b.benchOptions.overload {
		result, err := b.overload(ctx, errOut)
		if err != nil {
			return err
		}
		return errors.Join(encoder.Encode(result), b.verify(ctx, 0), result.judge())
	}
	if b.restart {
		result, err := b.restarts(ctx, errOut)
		if err != nil {
			return err
		}
		return errors.Join(encoder.Encode(result), b.verify(ctx, b.ended))
	}
	if b.submitters > 0 {
		result, err := b.submissions(ctx)
		if err != nil {
			return err
		}
		return errors.Join(encoder.Encode(result), b.verify(ctx, 0))
	}
	if b.real {
		result, err := b.launches(ctx, errOut)
		if err != nil {
			return err
		}
		return errors.Join(encoder.Encode(result), b.verify(ctx, result.Items))
	}
	result, err := b.measure(ctx, errOut)
	if err != nil {
		return err
	}
	if err := encoder.Encode(result); err != nil {
		return err
	}
	err = b.verify(ctx, result.Items)
	if result.Items == b.items { // else it is not at rest
		err = errors.Join(err, leaked(result.Start, result.End, result.Items))
	}
	return err
}

// check refuses what cannot be measured.
func (o *benchOptions) check() error {
	special := o.standstill || o.overload || o.real || o.restart
	switch {
	case o.arrivals < 0 || o.arrivals > 0 && special:
		return api.Errorf(api.KindUsage,
			"-arrivals %g: use a number of jobs per second, without -standstill, -overload, -real and -restart", o.arrivals)
	case o.jobs == 0 && o.arrivals > 0 && o.limit > 0:
		o.items = 0
		return nil
	case o.hosts < 1 || o.slots < 1 || o.jobs < 1 || o.items < o.jobs || o.width < 0:
		return api.Errorf(api.KindUsage, "hosts, slots and jobs are at least 1, and items at least as many as jobs; "+
			"-jobs 0 goes with -arrivals and -seconds")
	case o.ended < 0 || o.ended > 0 && !o.restart || o.ended > o.items/2:
		return api.Errorf(api.KindUsage, "-ended %d: use at most half of -items, with -restart", o.ended)
	}
	return nil
}

// startFarm runs the qb beside this program as a farm, with workers only if items are real, and finds its credentials.
func (b *benchRun) startFarm(errOut io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	workers := 0
	if b.real {
		workers = b.benchOptions.hosts
	}
	b.farm = exec.Command(filepath.Join(filepath.Dir(self), "qb"), "farm", "-hosts", fmt.Sprint(workers), "-slots",
		fmt.Sprint(b.slots), "-state", b.state, "-listen", b.listen(), "-profile", b.profile, "-heap", b.heap)
	b.farm.Env = append(os.Environ(), "QB_SUPERVISOR_NAMES=127.0.0.1", "QB_SUPERVISOR_MAX_CPUS_LIMIT=100000",
		"QB_SUPERVISOR_USER_SUBMISSIONS=0", "QB_SUPERVISOR_USER_JOBS=0")
	if b.standstill {
		b.duration = standItem
		b.farm.Env = append(b.farm.Env, "QB_SUPERVISOR_EXECUTION_LEASE="+standLease.String(), "QB_SUPERVISOR_LIVENESS=10s")
	}
	if b.benchOptions.overload {
		b.farm.Env = append(b.farm.Env, "QB_SUPERVISOR_SOCKET="+filepath.Join(b.state, "qb.sock"))
	}
	if b.database != "" {
		b.farm.Env = append(b.farm.Env, "QB_DATABASE_URL="+b.database)
	}
	b.farm.Stderr = errOut
	b.farm.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready, err := b.farm.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.farm.Start(); err != nil {
		return fmt.Errorf("starting the farm: %w", err)
	}
	line, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		return fmt.Errorf("the farm did not become ready: %q %w", line, err)
	}
	text, err := os.ReadFile(filepath.Join(b.state, "farm.json"))
	if err == nil {
		err = json.Unmarshal(text, &b.file)
	}
	if err != nil {
		return fmt.Errorf("reading farm.json: %w", err)
	}
	token, err := b.token(b.file.TokenFile)
	if err != nil {
		return err
	}
	b.client, err = api.NewClient(b.file.URL, token)
	return err
}

func (b *benchRun) listen() string {
	if b.address != "" {
		return b.address
	}
	if b.tls {
		return "0.0.0.0:0"
	}
	return "127.0.0.1:0"
}

// token reads a token of the farm, and adds the fingerprint that TLS needs.
func (b *benchRun) token(file string) (string, error) {
	token, err := os.ReadFile(file)
	if err != nil || !b.tls {
		return strings.TrimSpace(string(token)), err
	}
	ca, err := certs.Look(b.state)
	return pin.Join(strings.TrimSpace(string(token)), ca.Fingerprint), err
}

func (b *benchRun) startHosts(errOut io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	token, err := b.token(filepath.Join(b.state, "worker.token"))
	if err != nil {
		return err
	}
	b.hosts = exec.Command(self, "hosts", "-url", b.file.URL, "-hosts", fmt.Sprint(b.benchOptions.hosts),
		"-slots", fmt.Sprint(b.slots), "-duration", b.duration.String(), "-seed", fmt.Sprint(b.seed))
	b.hosts.Env = append(os.Environ(), "QB_TOKEN="+token)
	b.hosts.Stderr, b.hosts.Stdout = errOut, b.report
	if b.stop, err = b.hosts.StdinPipe(); err != nil {
		return err
	}
	return b.hosts.Start()
}

// benchLook is how often a run is looked at in its first seconds; later each look is a hundredth of the run, as each
// costs the supervisor a list of the jobs.
const benchLook = 50 * time.Millisecond

// measure submits the jobs, lets the hosts at them and watches until all items have ended or the time is up.
func (b *benchRun) measure(ctx context.Context, errOut io.Writer) (*benchResult, error) {
	r := &benchResult{Hosts: b.benchOptions.hosts, Slots: b.slots, Load: benchLoad{Before: loadAverage()}}
	var err error
	if r.Start, err = b.level(ctx); err != nil {
		return nil, err
	}
	ids, err := b.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	cpu, own, machine := cpuOf(b.farm.Process.Pid), ownCPU(), machineCPU()
	if err := b.startHosts(errOut); err != nil {
		return nil, err
	}
	arriving, stop := b.arrive(ctx)
	err = b.watch(ctx, ids, r)
	stop()
	if err != nil {
		return nil, err
	}
	used := cpuOf(b.farm.Process.Pid)
	r.SupervisorCPUSeconds, r.PostgresCPUSeconds = used.Self-cpu.Self, used.Children-cpu.Children
	r.SupervisorRSS = used.Peak
	r.BenchCPUSeconds = ownCPU() - own
	machine = machineCPU() - machine
	if err := b.scrape(ctx, r); err != nil {
		return nil, err
	}
	first, err := b.collect(r)
	if err != nil {
		return nil, err
	}
	r.OtherCPUSeconds = max(0, machine-r.SupervisorCPUSeconds-r.PostgresCPUSeconds-r.HostsCPUSeconds-r.BenchCPUSeconds)
	if r.Arrivals, err = arriving.result(r, first); err != nil {
		return nil, err
	}
	if r.End, err = b.level(ctx); err != nil {
		return nil, err
	}
	r.Limit, err = b.measureLimit(ctx, r)
	return r, err
}

// watch looks at the farm until all items have ended or the time is up.
func (b *benchRun) watch(ctx context.Context, ids []int64, r *benchResult) error {
	began := time.Now()
	var load []float64
	for b.items == 0 || r.Items < b.items {
		if err := pause.For(ctx, min(max(benchLook, time.Since(began)/100), 20*benchLook)); err != nil {
			return err
		}
		var waiting, running int
		var err error
		if r.Items, err = b.sum(ctx, ids, func(c api.ItemCounts) int {
			waiting += c.Pending
			running += c.Running
			return c.Complete
		}); err != nil {
			return err
		}
		before := r.Seconds
		r.Seconds = time.Since(began).Seconds()
		load = append(load, loadAverage())
		r.Full.note(float64(running)/float64(r.Hosts*r.Slots), r.Seconds, before, waiting > 0)
		if b.limit > 0 && r.Seconds > b.limit.Seconds() {
			break
		}
	}
	r.ItemsPerSecond = float64(r.Items) / r.Seconds
	r.Load.During = mean(load)
	return nil
}

func (b *benchRun) submit(ctx context.Context, r *benchResult) ([]int64, error) {
	var ids []int64
	width, one := -1, 1
	if b.width > 0 {
		width = b.width
	}
	for n := range b.jobs {
		items := b.items / b.jobs
		if n < b.items%b.jobs {
			items++
		}
		began := time.Now()
		var reply api.SubmitReply
		err := b.client.Call(ctx, api.Submit, nil, api.SubmitRequest{
			Name: fmt.Sprintf("bench-%d", n), Command: []string{"true"}, Range: fmt.Sprintf("1-%d", items), CPUs: &one,
			MaxCPUs: &width,
		}, &reply)
		if err != nil {
			return nil, err
		}
		r.SubmitMS = max(r.SubmitMS, float64(time.Since(began))/1e6)
		ids = append(ids, reply.Job)
	}
	return ids, nil
}

// count is how many items have a durable end.
func (b *benchRun) count(ctx context.Context, ids []int64) (int, error) {
	return b.sum(ctx, ids, func(c api.ItemCounts) int { return c.Complete })
}

func (b *benchRun) sum(ctx context.Context, ids []int64, of func(api.ItemCounts) int) (int, error) {
	if len(ids) == 0 { // no ids are all jobs
		return 0, nil
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
	var jobs []api.Job
	if err := b.client.Call(ctx, api.ListJobs, api.Params{"ids": list}, nil, &jobs); err != nil {
		return 0, err
	}
	n := 0
	for _, j := range jobs {
		n += of(j.Items)
	}
	return n, nil
}

// collect ends the hosts and takes their figures, and when they had the first item of each job.
func (b *benchRun) collect(r *benchResult) (first map[int64]time.Time, err error) {
	b.stop.Close()
	if err := b.hosts.Wait(); err != nil {
		return nil, fmt.Errorf("the simulated hosts: %w", err)
	}
	b.hosts = nil
	var report benchReport
	if err := json.Unmarshal(b.report.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("the simulated hosts' report: %w", err)
	}
	r.HostsCPUSeconds = report.CPUSeconds
	r.HostsCPUShare = report.CPUSeconds / (report.CPUSeconds + r.SupervisorCPUSeconds + r.PostgresCPUSeconds)
	r.HostsRSS = report.RSS
	r.RefillMS = report.RefillMS
	return report.First, nil
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// scrape reads commits and rows from the supervisor's metrics.
func (b *benchRun) scrape(ctx context.Context, r *benchResult) error {
	m, err := b.metrics(ctx)
	r.Plans = benchPlans{int64(m[`qb_plans_total{kind="whole"}`])}
	r.Commits, r.RowsWritten = int64(m["qb_commits_total"]), int64(m["qb_commit_writes_sum"])
	return err
}

// verify proves from the rows that each item ended exactly once.
func (b *benchRun) verify(ctx context.Context, items int) error {
	report, err := postgres.Audit(ctx, b.file.DatabaseURL)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return api.Errorf(api.KindInternal, "the rows do not add up: %v", report.Problems[0])
	}
	if report.Attempts < int64(items) {
		return api.Errorf(api.KindInternal, "%d items ended, the rows hold %d attempts", items, report.Attempts)
	}
	return nil
}

func (b *benchRun) end() {
	if b.hosts != nil && b.hosts.Process != nil {
		b.stop.Close()
		_ = b.hosts.Wait()
	}
	if b.farm != nil && b.farm.Process != nil {
		_ = b.farm.Process.Signal(syscall.SIGTERM)
		_ = b.farm.Wait()
	}
}
