package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bounds of the plan. A shim may be stopped for less than grace and margin together, for it is what
// freezes its item at the deadline.
const (
	crashPauseMost = 900 * time.Millisecond
	crashAway      = 9 * time.Second // longest absence; beyond the lease
	crashShimStop  = 3 * time.Second
	crashPGApart   = 12 * time.Second // at least so long between two ends of Postgres
	crashPGDeaths  = 8                // its keeper gives a server up that dies more often in a row
)

// crashFault is one kind of fault; weight says how often it is drawn.
type crashFault struct {
	name   string
	weight int
	do     func(r *crashRig) bool // false: there was nothing to break
}

var crashFaults = []crashFault{
	{"supervisor killed", 4, (*crashRig).killSupervisor},
	{"supervisor stopped", 3, (*crashRig).stopSupervisor},
	{"agent killed", 4, (*crashRig).killAgent},
	{"agent stopped", 3, (*crashRig).stopAgent},
	{"agent and its shims killed", 2, (*crashRig).killHost},
	{"shim killed", 3, (*crashRig).killShim},
	{"program killed", 8, (*crashRig).killProgram},
	{"shim stopped", 2, (*crashRig).stopShim},
	{"host rebooted", 2, (*crashRig).rebootHost},
	{"disk full", 2, (*crashRig).fillDisk},
	{"state folder full", 2, (*crashRig).fillState},
	{"name doubled", 2, (*crashRig).doubleName},
	{"all hosts silent", 1, (*crashRig).silenceAll},
	{"network cut", 4, (*crashRig).cutNetwork},
	{"network one way", 4, (*crashRig).holdNetwork},
	{"network slow", 2, (*crashRig).slowNetwork},
	{"sessions ended", 1, (*crashRig).endSessions},
	{"postgres ended", 1, (*crashRig).endPostgres},
}

// breakFor breaks things until the time is up. What has ended by itself is started again meanwhile.
func (r *crashRig) breakFor(d time.Duration) {
	faults, total := crashFaults, 0
	if r.machines != nil {
		faults = slices.Concat(crashFaults, machineFaults)
	}
	for _, f := range faults {
		total += f.weight
	}
	for until := time.Now().Add(d); time.Now().Before(until); {
		r.settle(time.Now())
		n := r.random.IntN(total)
		for _, f := range faults {
			if n -= f.weight; n < 0 {
				if f.do(r) {
					r.faults[f.name]++
				}
				break
			}
		}
		select {
		case id := <-r.unfinishedOrder:
			r.killInOrder(id)
		case <-time.After(time.Duration(r.random.Int64N(int64(crashPauseMost)))):
		}
	}
}

// settle ends the faults whose time has come, and restarts what has died by itself.
func (r *crashRig) settle(now time.Time) {
	var left []crashUndo
	var due []crashUndo
	for _, u := range r.undo {
		if u.at.After(now) {
			left = append(left, u)
		} else {
			due = append(due, u)
		}
	}
	r.undo = left
	for _, u := range due {
		r.note("end of: %s", u.what)
		u.do()
	}
	for _, p := range append(r.supervisors[:], r.agents...) {
		if !p.up() && !slices.ContainsFunc(r.undo, func(u crashUndo) bool { return u.what == "dead "+p.name || u.what == "rebooting "+p.name }) {
			r.note("%s has ended by itself; starting it", p.name)
			if slices.Contains(r.agents, p) { // a supervisor may find no database at its start
				r.t.Errorf("agent %s has ended by itself; see %s", p.name, p.log)
			}
			if word := p.lastWord(); strings.Contains(word, "no space left") {
				r.t.Errorf("%s has ended for want of room: %s", p.name, word)
			}
			r.faults["supervisor found no database"]++
			r.must(p.start())
		}
	}
}

func (r *crashRig) later(after time.Duration, what string, do func()) {
	r.note("%s for %s", what, after)
	r.undo = append(r.undo, crashUndo{at: time.Now().Add(after), what: what, do: do})
}

// heal ends all faults.
func (r *crashRig) heal() {
	r.note("healing")
	r.settle(time.Now().Add(time.Hour))
	for _, pair := range r.proxies {
		for _, p := range pair {
			p.heal(false)
		}
	}
}

// absence is short most of the time, and sometimes longer than the lease.
func (r *crashRig) absence() time.Duration {
	most := crashAway / 6
	if r.random.IntN(3) == 0 {
		most = crashAway
	}
	return 50*time.Millisecond + time.Duration(r.random.Int64N(int64(most)))
}

func (r *crashRig) killSupervisor() bool {
	return r.killOne(r.supervisors[r.random.IntN(len(r.supervisors))])
}

func (r *crashRig) killAgent() bool { return r.killOne(r.agents[r.random.IntN(len(r.agents))]) }

// killHost leaves no one who could stop the host's items: they must end with their shims.
func (r *crashRig) killHost() bool {
	agent := r.agents[r.random.IntN(len(r.agents))]
	if !agent.up() {
		return false
	}
	r.endHost(agent)
	r.later(r.absence(), "dead "+agent.name, func() { r.must(agent.start()) })
	return true
}

func (r *crashRig) killOne(p *crashProcess) bool {
	if !p.up() {
		return false
	}
	p.kill()
	r.later(r.absence(), "dead "+p.name, func() { r.must(p.start()) })
	return true
}

func (r *crashRig) stopSupervisor() bool {
	return r.stopOne(r.supervisors[r.random.IntN(len(r.supervisors))])
}

func (r *crashRig) stopAgent() bool { return r.stopOne(r.agents[r.random.IntN(len(r.agents))]) }

func (r *crashRig) stopOne(p *crashProcess) bool {
	if !p.up() || p.stopped {
		return false
	}
	p.signal(syscall.SIGSTOP)
	r.later(r.absence()+time.Duration(r.random.Int64N(int64(2*time.Second))), "stopped "+p.name, func() { p.signal(syscall.SIGCONT) })
	return true
}

// shims leaves out what a shim has just forked: until it is the item's program it looks like its shim, and to
// kill it alone is a failure of the item.
func shims(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return slices.Contains(pids, parentOf(pid)) })
}

func parentOf(pid int) (parent int) {
	stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &parent)
	return parent
}

func TestForkedChildIsNoShim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := "exec 3<&0\n( read line <&3 ) &\nwait\n" // a child that looks like its parent, until its input ends
	if err := os.WriteFile(filepath.Join(dir, "shim"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "shim", dir)
	cmd.Dir = dir
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(crashPatience)
	for len(processesOf("shim", dir)) < 2 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if both := processesOf("shim", dir); len(both) != 2 || !slices.Equal(shims(both), []int{cmd.Process.Pid}) {
		t.Errorf("of %v these are shims: %v, want %d", both, shims(both), cmd.Process.Pid)
	}
	_ = input.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func (r *crashRig) aShim() int {
	pids := shims(r.processes("shim", ""))
	if len(pids) == 0 {
		return 0
	}
	slices.Sort(pids)
	return pids[r.random.IntN(len(pids))]
}

// killShim leaves an agent there, for what has left the item's first process is its to kill then.
func (r *crashRig) killShim() bool {
	agent := r.agents[r.random.IntN(len(r.agents))]
	pids := shims(r.processes("shim", agent.name))
	if len(pids) == 0 || !agent.up() || agent.stopped {
		return false
	}
	slices.Sort(pids)
	pid := pids[r.random.IntN(len(pids))]
	r.note("killing shim %d of %s", pid, agent.name)
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

func (r *crashRig) stopShim() bool {
	pid := r.aShim()
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	r.later(time.Duration(r.random.Int64N(int64(crashShimStop))), "stopped shim", func() {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed meanwhile
	})
	return true
}

// line draws what is cut off: an agent from one supervisor or from both.
func (r *crashRig) line() (name string, some []*crashProxy) {
	i := r.random.IntN(len(r.proxies))
	name, pair := r.agents[i].name, r.proxies[i]
	if r.random.IntN(3) > 0 {
		return name, pair[:]
	}
	j := r.random.IntN(len(pair))
	return name + " to " + r.supervisors[j].name, pair[j : j+1]
}

func (r *crashRig) cutNetwork() bool {
	name, some := r.line()
	for _, p := range some {
		p.setCut(true)
	}
	r.later(r.absence(), "cut "+name, func() { healAll(some, false) })
	return true
}

func (r *crashRig) holdNetwork() bool {
	name, some := r.line()
	way := 1 + r.random.IntN(3)
	for _, p := range some {
		p.hold(way&1 != 0, way&2 != 0)
	}
	reset := r.random.IntN(2) == 0
	r.later(r.absence(), "held "+name+[]string{" up", " down", " both ways"}[way-1], func() { healAll(some, reset) })
	return true
}

func (r *crashRig) slowNetwork() bool {
	name, some := r.line()
	delay := func() time.Duration { return time.Duration(r.random.Int64N(int64(400 * time.Millisecond))) }
	up, down := delay(), delay()
	for _, p := range some {
		p.slow(up, down)
	}
	r.later(r.absence(), "slow "+name, func() { healAll(some, false) })
	return true
}

func healAll(proxies []*crashProxy, reset bool) {
	for _, p := range proxies {
		p.heal(reset)
	}
}

// endSessions ends all sessions of the database but our own, in the midst of whatever they do.
func (r *crashRig) endSessions() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	r.note("ending all sessions")
	_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`)
	return err == nil
}

// endPostgres ends the server in one of three ways, and its keeper starts another.
func (r *crashRig) endPostgres() bool {
	if r.cluster == nil {
		return false
	}
	pid := r.cluster.PID()
	if pid == 0 || slices.ContainsFunc(r.undo, func(u crashUndo) bool { return u.what == "Postgres was ended" }) {
		return false
	}
	r.later(crashPGApart, "Postgres was ended", func() {})
	if r.pgDied++; r.pgDied == crashPGDeaths {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		r.must(r.cluster.Stop(ctx))
		r.startPostgres("")
		return true
	}
	how := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}[r.random.IntN(3)]
	r.note("Postgres: %s", how)
	return syscall.Kill(pid, how) == nil
}
