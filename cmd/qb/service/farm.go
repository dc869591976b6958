package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	workersettings "qb/worker/settings"
)

// Limits of a farm's start and stop.
const (
	startWithin   = 2 * time.Minute
	workersWithin = time.Minute
	stopSlack     = 20 * time.Second // beyond supervisor_kill_grace, until workers are killed
	maxHosts      = 256
	maxFarmSlots  = 4096
	namedHosts    = 4  // of the ones that the start names
	namesAtOnce   = 16 // in one expression, which has at most 4096 characters
)

type farmOptions struct {
	state, listen string
	doors         []string
	hosts, slots  int
	verbose       bool
	restart       bool
	profile, heap string // files
}

const farmLong = `Run a whole farm in one process tree: a private Postgres (unless database_url names another),
the supervisor, and local workers. Prints the line "ready URL" when jobs can run. Ctrl-C stops the
items and then the farm. After a crash the items continue, and the next qb farm with the same
state folder adopts them.`

const restartUsage = "restart the service that runs with this state folder, as the program that is installed now; its port stays in use meanwhile"

func newFarmCommand() *cobra.Command {
	var o farmOptions
	cmd := &cobra.Command{
		Use: "farm", Short: "Run a whole farm: Postgres, supervisor and local workers", Long: farmLong,
		Example: "  qb farm\n  qb farm -hosts 2 -slots 4 -state ~/farm -listen 127.0.0.1:0",
		Args:    commandline.WantArgs(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.state, "state", "", "`DIR` for the farm's state (default: supervisor_state, then QB_STATE)")
	cmd.Flags().StringVar(&o.listen, "listen", "", "`ADDR` to listen on; port 0: any free port (default: supervisor_listen)")
	cmd.Flags().IntVar(&o.hosts, "hosts", 1, "`N` local workers")
	cmd.Flags().IntVar(&o.slots, "slots", 0, "`N` slots per worker (default: worker_cpus, then the number of cores)")
	cmd.Flags().StringSliceVar(&o.doors, "doors", nil, "open the `DOORS` for programs that know no login, on loopback: flamenco")
	cmd.Flags().BoolVar(&o.restart, "restart", false, restartUsage)
	cmd.Flags().BoolVar(&o.verbose, "verbose", false,
		"log details of the supervisor and the workers, not only warnings and errors")
	cmd.Flags().StringVar(&o.profile, "profile", "",
		"write a profile of the supervisor's processor time to `FILE`, from its start to its end, for go tool pprof")
	cmd.Flags().StringVar(&o.heap, "heap", "", "write what the supervisor has in memory at its end to `FILE`, for go tool pprof")
	return cmd
}

func (o *farmOptions) run(cmd *cobra.Command) error {
	if o.hosts < 0 || o.hosts > maxHosts {
		return api.Errorf(api.KindUsage, "-hosts %d: use 0 to %d", o.hosts, maxHosts)
	}
	if o.slots < 0 || o.slots > maxFarmSlots {
		return api.Errorf(api.KindUsage, "-slots %d: use 1 to %d", o.slots, maxFarmSlots)
	}
	conf, err := serviceConfig(cmd, o.state, o.listen, o.openDoors)
	if err == nil {
		err = conf.WithOrigin(conf.WorkerKeys.Startable())
	}
	if err != nil {
		return err
	}
	if o.restart {
		return conf.orderRestart(cmd.Context())
	}
	if err := conf.prepare(); err != nil {
		return err
	}
	release, err := pgcluster.Lock(conf.SupervisorKeys.State)
	if err != nil {
		return err
	}
	defer release()
	stopProfile, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	f := &localFarm{conf: conf, log: newLogFrom(cmd.ErrOrStderr(), levelOf(o.verbose)), ended: make(chan error, 1)}
	err = f.start(cmd.Context(), o)
	if err == nil {
		f.tell(cmd.ErrOrStderr())
		f.tellPage(cmd.Context(), cmd.ErrOrStderr())
		fmt.Fprintln(cmd.OutOrStdout(), "ready", f.url)
		err = f.watch(cmd.Context())
	}
	signal.Reset(syscall.SIGINT, syscall.SIGTERM) // a second Ctrl-C does not wait for the clean end
	if errors.Is(err, errRestart) {
		stopProfile() // this process becomes another program
		return conf.ports.become(f.stop)
	}
	return errors.Join(orClean(cmd.Context(), err), writeHeap(o.heap), f.stop())
}

// flamencoAddress is where the Flamenco add-on looks for a Manager by default.
const flamencoAddress = "127.0.0.1:8080"

// openDoors opens doors of this name whose settings leave them closed.
func (o *farmOptions) openDoors(c *service) error {
	for _, name := range o.doors {
		if name != "flamenco" {
			return api.Errorf(api.KindUsage, "-doors %s: there is flamenco", output.Escape(name))
		}
		if c.FlamencoListen == "" {
			c.FlamencoListen = flamencoAddress
			c.Origins["supervisor_flamenco_listen"] = "option -doors"
		}
	}
	return nil
}

// startProfile writes a profile of this process until it is stopped, which may be done again; without a file it does
// nothing.
func startProfile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	to, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(to); err != nil {
		return nil, errors.Join(fmt.Errorf("-profile: %w", err), to.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = to.Close() // what is missing, go tool pprof says
	}, nil
}

// writeHeap writes what this process has in memory; without a file it does nothing.
func writeHeap(file string) error {
	if file == "" {
		return nil
	}
	to, err := os.Create(file)
	if err == nil {
		runtime.GC() // the profile is as of the last collection
		err = errors.Join(pprof.WriteHeapProfile(to), to.Close())
	}
	if err != nil {
		return fmt.Errorf("-heap: %w", err)
	}
	return nil
}

// localFarm is what one qb farm runs. Its parts are started in the order of the fields and stopped in the
// opposite one.
type localFarm struct {
	conf    *service
	log     *slog.Logger
	cluster *pgcluster.Cluster
	store   *postgres.Store
	cancel  context.CancelFunc // of the supervisor; nil before it
	ended   chan error         // the supervisor has
	workers *localWorkers
	url     string

	unpublish func() // farm.json is not written after it; nil: it was not before
}

// start returns when jobs can run: the supervisor leads and all local workers have registered.
func (f *localFarm) start(ctx context.Context, o *farmOptions) error {
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	database, err := f.startDatabase(starting)
	if err != nil {
		return err
	}
	if f.store, err = f.conf.awaitStore(starting, database, f.log); err != nil {
		return err
	}
	// The supervisor outlives the signal that ends ctx: workers still report while they stop.
	running, cancelRun := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancelRun
	ready := make(chan string, 1)
	var trouble func() string
	if f.cluster != nil {
		trouble = f.cluster.Trouble
	}
	go func() { f.ended <- f.conf.supervise(running, f.store, f.log, ready, trouble) }()
	select {
	case f.url = <-ready:
	case err := <-f.ended:
		f.cancel = nil
		return err
	case <-starting.Done():
		return fmt.Errorf("the supervisor did not become the leader in time: %w; see the log above", starting.Err())
	}
	began := time.Now()
	if f.workers, err = startWorkers(f.conf, f.log, f.url, o); err != nil {
		return err
	}
	f.tellLimit()
	if err := f.registered(starting, began); err != nil {
		return err
	}
	go f.workers.retire(running, f.conf, f.url)
	f.unpublish = f.conf.publish(f.conf.farmFile(f.url, database), f.log)
	return nil
}

// startDatabase starts the private Postgres unless another database is named.
func (f *localFarm) startDatabase(ctx context.Context) (string, error) {
	if f.conf.DatabaseURL != "" {
		return f.conf.DatabaseURL, nil
	}
	cluster, err := pgcluster.Start(ctx, pgcluster.Config{State: f.conf.SupervisorKeys.State,
		BinDir: f.conf.DatabaseBinDir, Log: f.log})
	if errors.Is(err, pgcluster.ErrNoBinaries) {
		return "", api.Errorf(api.KindUnavailable, "%v", err)
	}
	if err != nil {
		return "", err
	}
	f.cluster = cluster
	return cluster.URL(), nil
}

// tell prints where the farm is, and for whom.
func (f *localFarm) tell(out io.Writer) {
	database, asked, whose := "database_url", f.url, "their owners; all users of this machine may submit"
	if f.cluster != nil {
		database = "a private Postgres there"
	}
	if f.conf.Socket != "" {
		asked += " and unix:" + f.conf.Socket
	}
	if f.conf.runAs() == workersettings.RunAsAgent {
		whose = fmt.Sprintf("%s and can do what %[1]s can; jobs of other users wait", statedir.OwnName())
	}
	var hosts []string
	for _, one := range f.workers.all {
		hosts = append(hosts, fmt.Sprintf("%s (%s)", one.name, facts.Several(f.workers.slots, "slot")))
	}
	if more := len(hosts) - namedHosts; more > 0 {
		hosts = append(hosts[:namedHosts], fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(out, "state     %s; the database is %s\n", f.conf.SupervisorKeys.State, database)
	fmt.Fprintf(out, "hosts     %s; items run as %s\n", cmp.Or(strings.Join(hosts, ", "), "none"), whose)
	fmt.Fprintf(out, "address   %s\n", asked)
}

// tellPage prints a link that logs a browser in, but to people alone: what is not a terminal may be a log.
func (f *localFarm) tellPage(ctx context.Context, out io.Writer) {
	link := f.url + "/; qb open prints a link that logs a browser in"
	if c, err := adminClient(f.conf, f.url); err == nil && output.IsTerminal(out) {
		var code api.CodeReply
		if err := c.Call(ctx, api.MakeCode, nil, nil, &code); err == nil {
			link = code.Link("")
		}
	}
	fmt.Fprintf(out, "page      %s\n", link)
}

// runAs is as whom the local workers run items.
func (c *service) runAs() string {
	switch {
	case c.RunAs != "":
		return c.RunAs
	case os.Geteuid() == 0:
		return workersettings.RunAsOwner
	}
	return workersettings.RunAsAgent
}

// tellLimit says at the start what would later look like a fault: no job fills the farm.
func (f *localFarm) tellLimit() {
	slots, limit := len(f.workers.all)*f.workers.slots, f.conf.MaxCPUsLimit
	if slots > limit {
		fmt.Fprintf(os.Stderr, "qb farm: %d slots, but no job uses more than supervisor_max_cpus_limit = %d; raise the limit in qb.conf to let one job use the whole farm\n", slots, limit)
	}
}

// adminClient asks the farm's own supervisor as its administrator.
func adminClient(conf *service, url string) (*api.Client, error) {
	token, err := find.ReadToken(conf.tokenFile(api.Admin))
	if err != nil {
		return nil, err
	}
	if conf.Socket != "" {
		url = "unix:" + conf.Socket
	}
	return api.NewClient(url, token)
}

// registered waits until the supervisor has heard all local workers since they were started.
func (f *localFarm) registered(ctx context.Context, began time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, workersWithin)
	defer cancel()
	c, err := adminClient(f.conf, f.url)
	if err != nil {
		return err
	}
	defer c.CloseIdle()
	missing := f.workers.names()
	for len(missing) > 0 {
		// not all hosts: a farm may know ten thousand, and a list of them takes longer than all other parts of a start
		asked := api.Params{"expression": fmt.Sprintf("host.name in %q",
			strings.Join(missing[:min(len(missing), namesAtOnce)], ","))}
		var hosts []api.Host
		if err := c.Call(ctx, api.ListHosts, asked, nil, &hosts); err == nil {
			missing = slices.DeleteFunc(missing, func(name string) bool { return heard(hosts, name, began) })
			if len(missing) == 0 {
				break
			}
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for the local workers %v to register: %w; see the log above", missing, err)
		}
	}
	return nil
}

// watch returns when the farm is to end: by ctx, or since a part of it failed for good.
func (f *localFarm) watch(ctx context.Context) error {
	var failed <-chan error
	if f.cluster != nil {
		failed = f.cluster.Failed()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.conf.ports.asked:
		return errRestart
	case err := <-f.ended:
		f.cancel = nil
		return fmt.Errorf("the supervisor ended: %w", err)
	case err := <-failed:
		return err
	}
}

// stop ends the items, then the workers, the supervisor and Postgres.
func (f *localFarm) stop() error {
	var all []error
	if f.workers != nil {
		f.workers.stop()
	}
	if f.cancel != nil {
		f.cancel()
		if err := <-f.ended; err != nil && !errors.Is(err, context.Canceled) {
			all = append(all, fmt.Errorf("stopping the supervisor: %w", err))
		}
	}
	if f.store != nil {
		f.store.Close()
	}
	if f.cluster != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopSlack)
		defer cancel()
		if err := f.cluster.Stop(ctx); err != nil {
			all = append(all, fmt.Errorf("stopping Postgres: %w", err))
		}
	}
	if f.unpublish != nil {
		f.unpublish()
	}
	return errors.Join(append(all, f.conf.removeFarmFile())...)
}
