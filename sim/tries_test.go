package sim

import (
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

const (
	simKiller     = "kills its shim"
	simStrange    = 3 // such ends of an item, after which it is held
	simKillsFor   = 4 // attempts; then the item behaves, so that the farm can come to rest
	simKillerItem = 1
)

// killsShim says whether an attempt kills the parent of its own processes.
func (w *simWorld) killsShim(id facts.AttemptID) bool {
	j := w.rows.jobs[id.Job]
	return j != nil && j.facts.Name == simKiller && id.Item == simKillerItem && id.Number <= simKillsFor
}

// checkTries: an item that ends again and again by what it may do to its worker is held (L7).
func (r *simRows) checkTries(j *simJobRow, e facts.EndAttempt) {
	if e.State != facts.Lost || !(e.Reason == facts.ReasonNoRecord || e.Reason == facts.ReasonLogUnwritable) {
		return
	}
	if j.strange[e.ID.Item]++; j.strange[e.ID.Item] > simStrange {
		r.world.fail("L7: item %d of job %d ended %d times by %s and is not held", e.ID.Item, e.ID.Job, j.strange[e.ID.Item], e.Reason)
	}
}

// TestBarKillsItsShim: an item that kills its shim is held after three tries, on one host, and also if leaders change in
// between; the other items of its job go on.
func TestBarKillsItsShim(t *testing.T) {
	held := 0
	for seed := uint64(1); seed <= simScripts; seed++ {
		w := newVerbsWorld(seed)
		w.clients.verbs.on = false
		w.at(simScriptAt, func() {
			job := facts.JobFacts{Name: simKiller, User: "u1", CPUs: 1, Priority: 1, Agenda: agenda.Spec{Range: "1-3"}}
			if seed%2 == 0 {
				job.Hosts = []string{w.hosts[0].name}
			}
			w.clients.give(job, func(facts.JobID) {})
		})
		for n := range 3 * (seed % 3) {
			w.at(simScriptAt+time.Duration(n+1)*2*time.Second, func() {
				for _, s := range w.supervisors {
					if s.term != nil {
						s.kill()
						s.start()
						return
					}
				}
			})
		}
		if w.live(); w.failure != "" {
			t.Errorf("%s\nseed %d: %s", w.story(), seed, w.failure)
			return
		}
		held += w.reached["an item held as poison"]
	}
	if held < simScripts/2 { // somebody may kill the job first, or ask one who does not lead
		t.Errorf("only %d items were held in %d worlds", held, simScripts)
	}
}
