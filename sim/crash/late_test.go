package crash

import (
	"slices"
	"strings"
	"testing"
)

// A host is cut off past the lease of an item that it did in time. When it is heard again the item is complete: the
// next attempt, which runs by then, is stopped; or none begins, where no host has had room for it.
func TestLateEnd(t *testing.T) {
	t.Parallel()
	r := newCrashRig(t, 5, 2, 1)
	r.until("both hosts are up", func() bool { return r.hostsUp() == 2 })
	r.lateEnd(true)
	r.lateEnd(false)
	r.checkTruth()
	audit := r.qb(0, r.both(), "env", "QB_DATABASE_URL="+r.database, "qb", "audit", "-workers")
	if !strings.Contains(audit, "2 of 2 workers answered") {
		t.Errorf("not all workers were compared with the rows:\n%s", audit)
	}
}

func (r *crashRig) lateEnd(begins bool) {
	item := `ticks=8; [ $QB_ATTEMPT = 1 ] || ticks=1000000; exec /bin/sh ` + r.path("item.sh") + " " + r.path("truth") + ` $ticks plain`
	job := r.qb(0, r.both(), "qbsub", "-cpus", "1", "-max_cpus", "0", "/bin/sh", "-c", item)
	first := r.awaitRun(job, 1)
	host := slices.IndexFunc(r.agents, func(p *crashProcess) bool { return p.name == first.host })
	other := r.agents[1-host].name
	if !begins {
		r.qb(0, r.both(), "qblock", other)
	}
	for _, p := range r.proxies[host] {
		p.setCut(true)
	}
	r.until("it has ended there", func() bool { return r.endedBy(job) == 1 })
	if begins {
		r.awaitRun(job, 2)
	} else {
		r.until("the attempt is given up", func() bool {
			return strings.Contains(r.qb(0, r.both(), "qb", "history", "-json", job), `"host_silent"`)
		})
	}
	healAll(r.proxies[host][:], false)
	r.until("the job completes", func() bool {
		return r.qb(-1, r.both(), "qbjobs", "-no-headers", "-fields", "status", job) == "complete"
	})
	r.until("nothing of it is there", func() bool { return len(r.itemProcesses()) == 0 })
	history := r.qb(0, r.both(), "qb", "history", "-json", job)
	if !strings.Contains(history, `"late-end"`) || strings.Contains(history, `"item-preempted"`) != begins || r.endedBy(job) != 1 {
		r.t.Errorf("the history of job %s:\n%s", job, history)
	}
	if !begins {
		r.qb(0, r.both(), "qbunlock", other)
	}
	r.until("both hosts are up", func() bool { return r.hostsUp() == 2 })
}
