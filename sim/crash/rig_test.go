package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/sim/netns"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/pgcluster"
)

// The crash rig: two supervisors, a Postgres and agents as real processes, whose items write down
// themselves when they run. A plan drawn from a seed kills and stops all of them and cuts the network;
// at the end what the items wrote is compared with what the farm's rows say.
type crashRig struct {
	t       testing.TB
	dir     string
	random  *rand.Rand
	cluster *pgcluster.Cluster // nil: the database is not the rig's
	pgDied  int                // servers that died since the keeper was started

	database string

	root  bool            // hosts can be rebooted and have disks of their own
	disks []string        // hosts with a small disk
	small []string        // state folders of supervisors with one
	marks map[string]bool // what only items of this rig have in their environment

	supervisors [2]*crashProcess
	agents      []*crashProcess
	twins       []*crashTwin
	addresses   [2]string
	proxies     [][2]*crashProxy          // by agent
	machines    map[string]*netns.Machine // by supervisor and agent; nil: all are on the rig's
	toDatabase  *crashProxy               // of the supervisors' machines
	clients     []*api.Client

	large           *crashLarge              // without jobs: none
	late            map[itemOf]bool          // items that count by a result that came late
	killed          map[crashHome]int        // programs of load-once jobs
	unreported      map[facts.AttemptID]bool // that failed, as their programs ended without a word
	taken           map[facts.AttemptID]bool // what they reported and was recorded
	unfinishedOrder chan int64               // jobs, while an order on them is shown as unfinished

	began  time.Time
	faults map[string]int
	undo   []crashUndo
	log    *os.File // the plan as it was carried out
}

// crashUndo ends a fault.
type crashUndo struct {
	at   time.Time
	what string
	do   func()
}

// Leases of the rig: short, so that many run out.
var crashSettings = []string{
	"QB_CONF=" + os.DevNull, "QB_SUPERVISOR_LIVENESS=2s", "QB_SUPERVISOR_EXECUTION_LEASE=6s", "QB_SUPERVISOR_KILL_GRACE=1s",
	"QB_SUPERVISOR_PREEMPT_POLICY=aggressive", "QB_SUPERVISOR_SMART_SHARE_MIN_RUN=1s", "QB_SUPERVISOR_SMART_SHARE_SETTLE=500ms",
	"QB_SUPERVISOR_FAIRSHARE_HALF_LIFE=0s", "QB_SUPERVISOR_DEFAULT_MEMORY=64MB",
	"QB_SUPERVISOR_LOADONCE_WAIT=4s", "QB_SUPERVISOR_SHORT_ITEM=1s",
}

// crashProcess is one of ours that is started again whenever it ends.
type crashProcess struct {
	name    string
	program string
	args    []string
	env     []string
	log     string

	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has
	stopped bool
}

func (p *crashProcess) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.program, p.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: 0}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // most ends are ours
		close(ended)
	}()
	p.cmd, p.ended, p.stopped = cmd, ended, false
	return nil
}

func (p *crashProcess) up() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *crashProcess) signal(sig syscall.Signal) {
	if p.up() {
		_ = p.cmd.Process.Signal(sig) // it may end at this moment
		p.stopped = sig == syscall.SIGSTOP || (p.stopped && sig != syscall.SIGCONT)
	}
}

func (p *crashProcess) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// newCrashRig starts Postgres, two supervisors and the agents, and returns once one leads.
func newCrashRig(t testing.TB, seed uint64, agents, slots int, settings ...string) *crashRig {
	t.Helper()
	return newCrashRigOn(t, os.Getenv("QB_CRASH_DATABASE"), seed, agents, slots, settings...)
}

// newCrashRigOn does so without Postgres on an empty database that is there; empty: none is.
func newCrashRigOn(t testing.TB, database string, seed uint64, agents, slots int, settings ...string) *crashRig {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb-crash-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // the server's user must enter
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &crashRig{t: t, dir: dir, random: rand.New(rand.NewPCG(seed, 0x6372)), faults: map[string]int{}, began: time.Now(),
		root: os.Geteuid() == 0, marks: map[string]bool{}, killed: map[crashHome]int{}, unreported: map[facts.AttemptID]bool{}, unfinishedOrder: make(chan int64),
		large: &crashLarge{jobs: []int64{}}} // not nil, which Postgres takes for unknown
	t.Cleanup(r.end)
	for _, sub := range []string{"db", "truth", "logs", "holds"} {
		r.must(os.Mkdir(r.path(sub), 0o755))
	}
	r.log, err = os.Create(r.path("plan"))
	r.must(err)
	r.must(os.WriteFile(r.path("item.sh"), []byte(crashItem), 0o755))
	r.must(os.WriteFile(r.path("child.sh"), []byte(crashChild), 0o755))
	r.startMachines(agents)
	r.startPostgres(database)
	r.startSupervisors(settings)
	r.startAgents(agents, slots)
	return r
}

func (r *crashRig) path(name ...string) string {
	return filepath.Join(append([]string{r.dir}, name...)...)
}

func (r *crashRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *crashRig) note(format string, args ...any) {
	fmt.Fprintf(r.log, "%8.3f %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// startPostgres starts the rig's own server, unless there is an empty database with this URL, perhaps with a
// pooler before it. The rig then ends sessions only, not the server.
func (r *crashRig) startPostgres(database string) {
	if r.database = database; r.database != "" {
		return
	}
	cluster, err := pgcluster.Start(context.Background(), pgcluster.Config{State: r.path("db"), Fast: true})
	r.must(err)
	r.cluster, r.database, r.pgDied = cluster, cluster.URL(), 0
}

func (r *crashRig) startSupervisors(settings []string) {
	database := r.supervisorsDatabase()
	for i := range r.supervisors {
		name := "s" + strconv.Itoa(i+1)
		r.addresses[i] = r.ownAddress(name)
		r.smallState(name)
		if i > 0 {
			r.shareAuthority(name)
		}
		r.supervisors[i] = &crashProcess{
			name: name, log: r.path(name + ".log"), program: "qb", args: []string{"supervisor", "-state", r.path(name), "-listen", r.addresses[i]},
			env: slices.Concat(os.Environ(), crashSettings, []string{"QB_DATABASE_URL=" + database, "QB_SUPERVISOR_NAMES=" + r.names(name), "QB_SUPERVISOR_LOGPATH=" + r.path("logs"), "QB_SUPERVISOR_KEY_FILE=" + r.path("farm.key")}, settings),
		}
		r.place(r.supervisors[i])
		r.must(r.supervisors[i].start())
		r.until("supervisor "+name+" answers", func() bool {
			if !r.supervisors[i].up() {
				r.t.Fatalf("supervisor %s ended at once; see %s", name, r.supervisors[i].log)
			}
			c, err := net.Dial("tcp", r.addresses[i])
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
	}
	token, err := os.ReadFile(r.path("s1", "admin.token"))
	r.must(err)
	for _, address := range r.addresses {
		c, err := api.NewClient(r.scheme()+address, strings.TrimSpace(string(token)))
		r.must(err)
		r.clients = append(r.clients, c)
	}
	r.leading()
}

// ownAddress is an address that nothing else on this machine takes while a supervisor that owns it is down: other
// listeners of tests, and all connections to loopback addresses, are on 127.0.0.1.
func (r *crashRig) ownAddress(supervisor string) string {
	r.t.Helper()
	if m := r.machines[supervisor]; m != nil {
		return net.JoinHostPort(m.Address, "50001")
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	r.must(err)
	defer l.Close()
	return l.Addr().String()
}

// leader is the index of the supervisor that says it leads, else -1.
func (r *crashRig) leader() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	at, err := api.Locate(ctx, r.clients) // asks all at once, for one may be stopped
	if err != nil {
		return -1
	}
	if leads, err := r.clients[at].Leads(ctx); err != nil || !leads {
		return -1
	}
	return at
}

// leading waits until a supervisor leads, and says which: on a busy machine its answer may be late.
func (r *crashRig) leading() (at int) {
	r.t.Helper()
	r.until("one leads", func() bool { at = r.leader(); return at >= 0 })
	return at
}

func (r *crashRig) startAgents(n, slots int) {
	for i := range n {
		var pair [2]*crashProxy
		var urls []string
		for j, address := range r.addresses {
			p, err := newCrashProxy(r.proxyListen(), "tcp", address)
			r.must(err)
			p.scheme = r.scheme()
			pair[j] = p
			urls = append(urls, p.url())
		}
		r.proxies = append(r.proxies, pair)
		name := "a" + strconv.Itoa(i+1)
		r.marks[strings.Join(urls, ",")] = true
		agent := r.furnish(name, i, []string{"worker", "-name", name, "-slots", strconv.Itoa(slots), "-state", r.path(name), "-run_as", "agent",
			"-token_file", r.path("s1", "worker.token"), "-supervisor", strings.Join(urls, ",")})
		r.place(agent)
		r.agents = append(r.agents, agent)
		r.must(agent.start())
	}
}

// until repeats a look until it is satisfied.
func (r *crashRig) until(what string, look func() bool) {
	r.t.Helper()
	for began := time.Now(); !look(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > crashPatience {
			r.t.Fatalf("never: %s; see %s", what, r.dir)
		}
	}
}

// crashPatience is how long the rig waits for what must come once nothing is broken any more.
const crashPatience = 3 * time.Minute

// processes are the ids of the processes of a kind (shim, worker) whose command line names a folder of the rig.
func (r *crashRig) processes(kind, below string) []int {
	return processesOf(kind, r.path(below))
}

func processesOf(kind, folder string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		words := commandLine(pid)
		if err == nil && len(words) > 1 && words[1] == kind && strings.Contains(strings.Join(words, " "), folder) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end stops everything of the rig's, items included, and keeps the folder of a run that failed.
func (r *crashRig) end() {
	for _, pair := range r.proxies {
		for _, p := range pair {
			p.close()
		}
	}
	var gone sync.WaitGroup
	for _, p := range append(r.supervisors[:], r.agents...) {
		if p != nil && p.cmd != nil {
			gone.Go(p.kill)
		}
	}
	gone.Wait()
	for range 3 { // a shim that dies leaves its item to init for a moment
		for _, pid := range r.ours() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if r.toDatabase != nil {
		r.toDatabase.close()
	}
	r.powerMachinesOff()
	if r.cluster != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.cluster.Stop(ctx); err != nil {
			r.t.Error(err)
		}
	}
	for _, name := range slices.Concat(r.disks, r.small) {
		if err := syscall.Unmount(r.path(name), syscall.MNT_DETACH); err != nil {
			r.t.Errorf("unmounting %s: %v", r.path(name), err)
		}
	}
	if r.log != nil {
		_ = r.log.Close()
	}
	if r.t.Failed() {
		r.t.Logf("logs, plan and truth are kept in %s", r.dir)
		return
	}
	r.removeTemps()
	_ = os.RemoveAll(r.dir)
}

// removeTemps removes the folders of items' own that a killed worker left to its successor. They are named after what
// its state has in the file id.
func (r *crashRig) removeTemps() {
	files, _ := filepath.Glob(r.path("*", "id"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if id := workerID.FindSubmatch(text); id != nil {
			_ = os.RemoveAll("/tmp/qb-" + string(id[1]))
		}
	}
}

var workerID = regexp.MustCompile(`"([A-Z2-7]{12})[A-Z2-7]*"`)

// ours are all processes whose command line names the rig's folder, except for Postgres.
func (r *crashRig) ours() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && pid != os.Getpid() && strings.Contains(string(line), r.dir) && !strings.Contains(string(line), r.path("db")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
