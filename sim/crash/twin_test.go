package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"qb/api"
)

// crashTwin is a second worker on a host's machine that reports the host's name: with a copy of its state folder, or
// with a new one. It is refused while the host speaks, and let in when the host was silent and nothing is left on it;
// the items of neither may run beside the other's.
type crashTwin struct {
	crashProcess
	host *crashProcess
	gone bool // with its host's power
}

const (
	crashTwinStays = 20 * time.Second // at most, while things break
	crashFarewell  = 20 * time.Second // a worker may take 15 s to end its items and report them
)

// startTwin starts a second worker under a host's name; false if its folder could not be copied now.
func (r *crashRig) startTwin(host *crashProcess, copied bool) bool {
	name := fmt.Sprintf("twin%03d", len(r.twins)+1)
	if copied {
		_ = exec.Command("cp", "-a", r.path(host.name), r.path(name)).Run() // files may come and go meanwhile
		if _, err := os.Stat(r.path(name, "place")); err != nil {
			r.must(os.RemoveAll(r.path(name)))
			return false
		}
	}
	twin := &crashTwin{crashProcess: *host, host: host}
	twin.name, twin.log = name, r.path(name+".log")
	twin.args = append(slices.Clone(host.args), "-stop-items")
	twin.args[slices.Index(twin.args, r.path(host.name))] = r.path(name)
	r.twins = append(r.twins, twin)
	r.note("%s reports the name of %s too, its folder copied: %v", name, host.name, copied)
	r.must(twin.start())
	return true
}

// doubleName starts a twin for a while; some of them beside a host whose agent is killed, so that the name may be
// theirs.
func (r *crashRig) doubleName() bool {
	if slices.ContainsFunc(r.twins, func(t *crashTwin) bool { return t.up() }) {
		return false
	}
	host := r.agents[r.random.IntN(len(r.agents))]
	if !host.up() || !r.startTwin(host, r.random.IntN(2) == 0) {
		return false
	}
	twin := r.twins[len(r.twins)-1]
	r.later(3*time.Second+time.Duration(r.random.Int64N(int64(crashTwinStays))), twin.name, func() { r.endTwin(twin) })
	if r.random.IntN(3) == 0 {
		r.killOne(host)
	}
	return true
}

// endTwin has a twin end its items and itself.
func (r *crashRig) endTwin(twin *crashTwin) {
	if !twin.up() && !twin.gone {
		r.t.Errorf("%s has ended by itself; see %s", twin.name, twin.log)
	}
	twin.signal(syscall.SIGTERM)
	r.later(crashFarewell, "end of "+twin.name, func() {
		if twin.up() {
			r.t.Errorf("%s does not end; see %s", twin.name, twin.log)
			twin.kill()
		}
	})
}

// killTwins ends the twins of a host without a word, and their shims, as they are on its machine.
func (r *crashRig) killTwins(host *crashProcess) {
	for _, twin := range r.twins {
		if twin.host == host {
			twin.gone = true
			twin.kill()
		}
	}
}

// machineShims are the shims of a host and of its twins.
func (r *crashRig) machineShims(host *crashProcess) []int {
	pids := r.processes("shim", host.name)
	for _, twin := range r.twins {
		if twin.host == host {
			pids = append(pids, r.processes("shim", twin.name)...)
		}
	}
	return shims(pids)
}

// letTwinIn kills an agent for good and demands that a worker with a new state folder has its name, and runs items,
// when nothing is left of the host's; and then that the host has it again.
func (r *crashRig) letTwinIn(jobs *crashJobs) {
	host, released := r.agents[0], time.Time{}
	until := func(what string, look func() bool) {
		r.until(what, func() bool {
			if time.Since(released) > crashReleaseEvery { // else no item may be left that can run
				jobs.release()
				released = time.Now()
			}
			return look()
		})
	}
	runs := func(name string) bool { return len(r.processes("shim", name)) > 0 }
	until("no twin is left, and its host runs items", func() bool {
		r.settle(time.Now())
		return !slices.ContainsFunc(r.twins, func(t *crashTwin) bool { return t.up() }) && runs(host.name)
	})
	host.kill()
	began := time.Now()
	r.startTwin(host, false)
	twin := r.twins[len(r.twins)-1]
	until("the twin of a host that is gone has its name", func() bool { return runs(twin.name) })
	r.t.Logf("%s had the name and an item %.1f s after the agent of %s was killed", twin.name, time.Since(began).Seconds(), host.name)
	r.must(host.start())
	until("the host is refused", func() bool { return r.claimed(host.name) })
	twin.signal(syscall.SIGTERM)
	<-twin.ended
	until("the host has its name again", func() bool { return runs(host.name) })
	r.t.Logf("%s had its name and an item again %.1f s after its agent was killed", host.name, time.Since(began).Seconds())
}

// claimed says whether the leader refuses a worker that reports the host's name.
func (r *crashRig) claimed(name string) bool {
	at := r.leader()
	if at < 0 {
		return false
	}
	var hosts []api.Host
	err := r.clients[at].Call(r.t.Context(), api.ListHosts, nil, nil, &hosts)
	return err == nil && slices.ContainsFunc(hosts, func(h api.Host) bool { return h.Name == name && len(h.Claims) > 0 })
}

// refused says whether a worker has logged that its name is another's.
func (r *crashRig) refused(p *crashProcess) bool {
	log, err := os.ReadFile(p.log)
	r.must(err)
	return strings.Contains(string(log), "another worker has the name or key of this worker")
}

// checkTwins wants some twins to have been refused, and counts the ones that ran items.
func (r *crashRig) checkTwins() {
	refused, ran := 0, 0
	for _, twin := range r.twins {
		if r.refused(&twin.crashProcess) {
			refused++
		}
		if ends, _ := filepath.Glob(r.path(twin.name, "ends", "*")); len(ends) > 0 {
			ran++
		}
	}
	if refused == 0 && r.faults["name doubled"] > 4 {
		r.t.Errorf("none of %d workers under a host's name was refused", len(r.twins))
	}
	r.t.Logf("%d workers under the name of a host: %d refused, %d ran items", len(r.twins), refused, ran)
}
