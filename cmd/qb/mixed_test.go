package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"qb/api"
	"qb/internal/statedir"
)

// mixedHost is a worker of the mixed farm: hosts differ in slots, memory, groups, cluster and GPUs.
type mixedHost struct {
	name  string
	slots int
	conf  string
}

var mixedHosts = []mixedHost{
	{"a", 2, "worker_groups = [\"old\"]\nworker_memory = \"512MB\"\n"},
	{"b", 3, "worker_groups = [\"old\", \"fast\"]\nworker_memory = \"1GB\"\nworker_resources = {gpus = 1}\n"},
	{"c", 7, "worker_groups = [\"fast\"]\nworker_memory = \"2GB\"\nworker_resources = {gpus = 2}\nworker_scratch = \"20GB\"\nworker_properties = {site = \"attic\"}\n"},
}

// What the balance waits for by time is off, so that each state settles at once; primaries of a better priority
// take none of a worse one's, as qb plan does not look at that.
const mixedConf = `supervisor_kill_grace = "1s"
supervisor_smart_share_min_run = "0s"
supervisor_smart_share_settle = "100ms"
supervisor_preempt_policy = "disabled"
supervisor_default_memory = "20MB"
supervisor_global_resources = "license.nuke=3"
worker_memory_reserve = "0"
`

// startMixed starts the services by themselves, one worker for each host, and returns who may submit: as root
// three users of the system, else the test's own.
func startMixed(t *testing.T) (*testFarm, []string) {
	dir := farmFolder(t)
	runAs, users := "agent", []string{statedir.OwnName()}
	if os.Geteuid() == 0 {
		runAs, users = "owner", []string{"daemon", "mail", "bin"}
	}
	f := &testFarm{t: t, state: filepath.Join(dir, "farm")}
	var all []*exec.Cmd
	start := func(conf string, args ...string) {
		file := filepath.Join(dir, fmt.Sprintf("%d.conf", len(all)))
		if err := os.WriteFile(file, []byte("worker_lowest_uid = 0\n"+mixedConf+conf), 0o644); err != nil {
			t.Fatal(err)
		}
		log, err := os.Create(file + ".log")
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		cmd := exec.Command("qb", append(args, "-conf", file)...)
		cmd.Env, cmd.Stderr = append(os.Environ(), "QB_STATE="+f.state), log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	t.Cleanup(func() { endAll(t, all) })
	start("", "farm", "-state", f.state, "-listen", "127.0.0.1:0", "-hosts", "1", "-slots", "1")
	f.until("the farm is ready", func() bool { _, err := os.Stat(filepath.Join(f.state, "farm.json")); return err == nil })
	for _, h := range mixedHosts {
		start(h.conf, "worker", "-name", h.name, "-slots", strconv.Itoa(h.slots), "-run_as", runAs, "-state", filepath.Join(dir, h.name), "-stop-items")
	}
	f.until("all hosts are up", func() bool { return len(f.hostsUp()) == len(mixedHosts)+1 })
	for _, name := range f.hostsUp() { // the farm's own host has no part in it
		if !slices.ContainsFunc(mixedHosts, func(h mixedHost) bool { return h.name == name }) {
			f.run(0, "qblock", name)
		}
	}
	return f, users
}

// endAll ends the workers before the farm that they report to.
func endAll(t *testing.T, all []*exec.Cmd) {
	for _, cmd := range slices.Backward(all) {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", cmd.Args, err)
		}
	}
}

func (f *testFarm) hostsUp() (names []string) {
	var hosts []api.Host
	if err := json.Unmarshal([]byte(f.run(0, "qbhosts", "-json")), &hosts); err != nil {
		f.t.Fatal(err)
	}
	for _, h := range hosts {
		if h.State == "up" {
			names = append(names, h.Name)
		}
	}
	return names
}

// counts are primaries and secondaries of each job that runs, and whether one is still on its way out.
func (f *testFarm) counts() (map[string][2]int, bool) {
	var jobs []api.Job
	if err := json.Unmarshal([]byte(f.run(0, "qbjobs", "-user", "all", "-json")), &jobs); err != nil {
		f.t.Fatal(err)
	}
	counts, draining := map[string][2]int{}, false
	for _, j := range jobs {
		if n := j.Instances; n.Primary+n.Secondary > 0 {
			counts[strconv.FormatInt(j.ID, 10)] = [2]int{n.Primary, n.Secondary}
		}
		draining = draining || j.Instances.Draining > 0
	}
	return counts, draining
}

// planned is what qb plan says to the output of qb snapshot, and whether it would start or stop any.
func (f *testFarm) planned() (map[string][2]int, bool) {
	file := filepath.Join(filepath.Dir(f.state), "snapshot.json")
	if err := os.WriteFile(file, []byte(f.run(0, "qb", "snapshot")), 0o644); err != nil {
		f.t.Fatal(err)
	}
	var plan struct {
		Jobs map[string]struct {
			Primary, Secondary, Stop     int
			StartPrimary, StartSecondary int
		}
		Stop, Promoted, Demoted, Leaving []string
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(f.run(0, "qb", "plan", file), "start_", "Start")), &plan); err != nil {
		f.t.Fatal(err)
	}
	counts, moves := map[string][2]int{}, len(plan.Stop)+len(plan.Promoted)+len(plan.Demoted)+len(plan.Leaving) > 0
	for id, j := range plan.Jobs {
		if j.Primary+j.Secondary > 0 {
			counts[id] = [2]int{j.Primary, j.Secondary}
		}
		moves = moves || j.StartPrimary+j.StartSecondary+j.Stop > 0
	}
	return counts, moves
}

// settles waits until the farm is at rest, and has then what qb plan says of qb snapshot's output.
func (f *testFarm) settles(what string) {
	f.t.Helper()
	told := ""
	defer func() {
		if f.t.Failed() {
			f.t.Logf("%s: %s\n%s\n%s\n%s", what, told, f.run(0, "qb", "snapshot"), f.run(0, "qbhosts", "-json"), f.run(0, "qbjobs", "-user", "all", "-fields", "id,reason"))
		}
	}()
	f.until(what+": the counts equal the plan's", func() bool {
		counts, draining := f.counts()
		planned, moves := f.planned()
		told = fmt.Sprintf("the farm has %v (some leave: %v), the plan says %v (moves: %v)", counts, draining, planned, moves)
		return !draining && !moves && fmt.Sprint(counts) == fmt.Sprint(planned)
	})
}

// On a farm of unlike hosts three users' jobs with different lists share as the model says, and random changes
// always settle in what qb plan makes of qb snapshot. QB_MIXED_STATES=30 looks at more states.
func TestMixedFarmEqualsItsPlan(t *testing.T) {
	t.Parallel()
	f, users := startMixed(t)
	user := func(n int) string { return users[n%len(users)] }
	// a has 2 slots, b 3, c 7. The first may use a alone, the second a and b: the least are raised first.
	ids := []string{
		f.run(0, "qbsub", "-user", user(0), "-hosts", "a", "-range", "1-99", "sleep", "600"),
		f.run(0, "qbsub", "-user", user(1), "-groups", "old", "-range", "1-99", "sleep", "600"),
		f.run(0, "qbsub", "-user", user(2), "-range", "1-99", "sleep", "600"),
	}
	f.settles("three lists")
	counts, _ := f.counts()
	if want := map[string][2]int{ids[0]: {1, 1}, ids[1]: {1, 2}, ids[2]: {1, 6}}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("three users' jobs with different lists share as %v, want %v", counts, want)
	}
	states, seed := 3, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("QB_MIXED_STATES")); err == nil {
		states = n
	}
	if n, err := strconv.ParseUint(os.Getenv("QB_MIXED_SEED"), 10, 64); err == nil {
		seed = n
	}
	m := &mixed{f: f, r: rand.New(rand.NewPCG(seed, 1)), users: users, jobs: ids}
	for n := range states {
		for range 1 + m.r.IntN(4) {
			m.change()
		}
		f.settles(fmt.Sprintf("state %d of seed %d, after %s", n+1, seed, strings.Join(m.told, "; ")))
		m.told = nil
	}
}

// mixed changes a farm at random.
type mixed struct {
	f     *testFarm
	r     *rand.Rand
	users []string
	jobs  []string // unfinished
	told  []string
}

func (m *mixed) one(words ...string) string { return words[m.r.IntN(len(words))] }

func (m *mixed) do(name string, args ...string) string {
	m.told = append(m.told, name+" "+strings.Join(args, " "))
	return m.f.run(0, name, args...)
}

func (m *mixed) change() {
	switch n := m.r.IntN(10); {
	case n < 4 && len(m.jobs) < 12 || len(m.jobs) == 0:
		m.submit()
	case n < 8:
		m.modify(m.jobs[m.r.IntN(len(m.jobs))])
	default:
		at := m.r.IntN(len(m.jobs))
		m.do("qbkill", m.jobs[at])
		m.jobs = slices.Delete(m.jobs, at, at+1)
	}
}

func (m *mixed) submit() {
	args := []string{
		"-user", m.one(m.users...), "-priority", m.one("3", "5", "7"), "-cpus", m.one("1", "2", "4"), "-max_cpus", m.one("*", "0", "2", "5"),
		"-range", m.one("1-2", "1-5", "1-50"), "-reservations", m.reservations(),
	}
	switch m.r.IntN(6) {
	case 0:
		args = append(args, "-hosts", m.one("a", "b", "a,c", "b,c"))
	case 1:
		args = append(args, "-groups", m.one("old", "fast"))
	case 2:
		args = append(args, "-requirements", m.one("host.site = attic", "host.memory >= 1GB", "host.groups has old", "host.os = linux"))
	}
	m.jobs = append(m.jobs, m.do("qbsub", append(args, "sleep", "600")...))
}

func (m *mixed) reservations() string {
	return m.one("host.processors=1", "host.processors=1", "host.processors=2", "host.processors=3", "host.memory=300MB", "host.memory=700MB", "host.gpus=1", "license.nuke=1", "host.processors=2,host.memory=200MB")
}

func (m *mixed) modify(id string) {
	switch m.r.IntN(7) {
	case 6:
		m.do("qbmodify", "-mreservations", m.reservations(), id)
	case 0:
		m.do("qbmodify", "-mcpus", m.one("1", "2", "3"), id)
	case 1:
		m.do("qbmodify", "-mmax_cpus", m.one("*", "0", "3", "6"), id)
	case 2:
		m.do("qbmodify", "-mpriority", m.one("1", "4", "9"), id)
	case 3:
		m.do("qbmodify", "-mhosts", m.one("", "a", "b,c"), id)
	case 4:
		m.do("qbmodify", "-mgroups", m.one("", "fast", "old"), id)
	default:
		m.do("qbmodify", "-momithosts", m.one("", "a", "c"), id)
	}
}
