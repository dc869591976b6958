package sim

import (
	"math"
	"time"

	"qb/supervisor/job/facts"
)

// simBooks is what owners have to pay, added up by the checks themselves.
type simBooks struct {
	skew  time.Duration // of the clock of the term that commits now
	given map[facts.AttemptID]simGiven
	owed  map[facts.Payer]facts.Charge
	rows  map[facts.Payer]facts.Charge // as the usage rows say

	budgets map[string]simBudget
}

// simGiven is when an attempt was given out, by the true time, and how far off the clock was that said so.
type simGiven struct{ at, skew time.Duration }

func newSimBooks() simBooks {
	return simBooks{given: map[facts.AttemptID]simGiven{}, owed: map[facts.Payer]facts.Charge{}, rows: map[facts.Payer]facts.Charge{}, budgets: map[string]simBudget{}}
}

const simCent = 0.001 // seconds that a charge may be off

// checkCharge: an attempt is charged, in seconds of each of its slots, for as long as it ran, if its worker said how
// long; if not, for no less than it computed and no more than it was given, of which the time after its lease is no
// part (issue 6: charges equal the run times). Its last lease ended by two clocks: the farm's, to which it is charged,
// and its host's, which froze it; if that one is the slower, it computed for as much longer as that lags in one lease,
// and in no more, for each lease starts again. Whatever clocks say meanwhile: only a database whose own clock is set
// between two terms may have it wrong.
func (r *simRows) checkCharge(a *facts.AttemptFacts, e facts.EndAttempt) {
	w, run := r.world, r.world.truth.attempts[e.ID]
	owner := facts.Payer{Account: r.jobs[e.ID.Job].facts.Account, Owner: a.Owner}
	if e.Charged != (e.State != facts.Preempted) {
		w.fail("books: %v is %s, and charged: %v", e.ID, e.State, e.Charged)
	}
	if e.Charged {
		owed := r.books.owed[owner]
		r.books.owed[owner] = facts.Charge{CPU: owed.CPU + e.Charge.CPU, RAM: owed.RAM + e.Charge.RAM, GPU: owed.GPU + e.Charge.GPU, Scratch: owed.Scratch + e.Charge.Scratch}
		r.books.spend(owner, e.Charge.Total())
	}
	charged := e.Charge.CPU / float64(a.Slots)
	given := r.books.given[e.ID]
	least, most := 0.0, (w.now - given.at).Seconds()
	switch {
	case e.Wall > 0:
		stood := e.Wall + e.Suspended
		least, most = stood-e.Released, stood-e.Released
		if run == nil || !run.ended || math.Abs((run.over-run.began).Seconds()-stood) > simCent {
			w.fail("books: %v is said to have run for %.3f s, and in truth: %+v", e.ID, e.Wall, run)
		}
	case e.State == facts.Done || e.State == facts.Failed:
		most = 0
	case r.books.skew != given.skew:
		w.some("a charge across a clock that was set")
		return
	default:
		if byLease(e) {
			most -= (w.leastGrace() + w.policy.LeaseMargin).Seconds()
			w.some("a charge to the end of a lease")
		}
		if run != nil {
			least = (run.computed - run.on.lag(w.policy.ExecutionLease)).Seconds()
			if !a.ReleasedAt.IsZero() { // it was suspended, and resumed until its end; for how long was not reported
				least -= (w.policy.KillGrace + simKilled).Seconds()
			}
		}
	}
	if charged < least-simCent || charged > most+simCent {
		w.fail("books: %v ends %s (%s) and is charged %.3f s of each of its slots, not %.3f to %.3f s", e.ID, e.State, e.Cause, charged, least, most)
	}
	delete(r.books.given, e.ID)
}

// checkBooks: after each transaction the usage rows, of which nothing decays in these worlds, are the sums of all
// that was charged: never twice, never not at all, whichever supervisor led.
func (r *simRows) checkBooks() {
	for owner, owed := range r.books.owed {
		if has := r.books.rows[owner]; math.Abs(has.Total()-owed.Total()) > 1e-9*max(1, owed.Total()) || math.Abs(has.CPU-owed.CPU) > 1e-9*max(1, owed.CPU) {
			r.world.fail("books: %v owes %+v, and the usage row says %+v", owner, owed, has)
			return
		}
	}
}
