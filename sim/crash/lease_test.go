package crash

import (
	"slices"
	"testing"
	"time"
)

// TestShorterLease: a host whose agent is gone holds an attempt by a long lease. The next leader, a standby or the same
// one after a restart, has a shorter lease in its settings: the item's next attempt begins elsewhere no earlier than
// the long lease allows.
func TestShorterLease(t *testing.T) {
	t.Parallel()
	const long, short = "QB_SUPERVISOR_EXECUTION_LEASE=25s", "QB_SUPERVISOR_EXECUTION_LEASE=5s"
	r := newCrashRig(t, 8, 2, 1, long)
	r.until("both hosts are up", func() bool { return r.hostsUp() == 2 })
	r.shortenLease("by a standby", func() {
		first := r.leading()
		r.restartWith(1-first, short)
		r.until("the standby stands by", func() bool { return r.standsBy(1 - first) })
		r.supervisors[first].kill()
		r.until("the standby leads", func() bool { return r.leader() == 1-first })
		r.restartWith(first, long)
	})
	r.supervisors[1-r.leading()].kill()
	r.restartWith(r.leading(), long)
	r.until("both hosts are up", func() bool { return r.hostsUp() == 2 })
	r.shortenLease("by a restart", func() { r.restartWith(r.leading(), short) })
	r.must(r.supervisors[1-r.leading()].start())
	r.checkTruth()
}

// restartWith kills a supervisor and starts it with a setting.
func (r *crashRig) restartWith(supervisor int, setting string) {
	r.t.Helper()
	p := r.supervisors[supervisor]
	p.kill()
	p.env = append(slices.Clone(p.env), setting)
	r.must(p.start())
}

// shortenLease kills the agent of a running attempt, changes the lease, and wants the old one kept.
func (r *crashRig) shortenLease(how string, change func()) {
	r.t.Helper()
	took := r.moved(func(host int) time.Duration {
		time.Sleep(2 * time.Second) // the agent has an answer with the long lease
		began := r.sinceBoot()
		r.agents[host].kill()
		change()
		return began
	}, func(host int) { r.must(r.agents[host].start()) })
	if r.t.Logf("%s: the next attempt began after %s", how, took); took < 20*time.Second {
		r.t.Errorf("%s: the next attempt began after %s, with a lease of 25 s", how, took)
	}
}
