package sim

import (
	"math"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// simReleased is for how long an attempt had given back its slots in truth, and since when by which clock it has now.
type simReleased struct {
	sum, since time.Duration
	skew       time.Duration
	askew      bool // the clock was set meanwhile
}

// release takes in that others may have an attempt's slots, or that it waits for them (S18): they go only when nothing
// of it runs.
func (r *simRows) release(e facts.ReleaseAttempt) {
	w := r.world
	a := r.checkLive(e.ID, "released")
	if a == nil {
		return
	}
	if a.State != facts.Running || e.From == facts.NotSuspended || a.SuspensionState() != e.From || e.At.IsZero() {
		w.fail("S18: %v is %s and %q, and is released from %q at %v", e.ID, a.State, a.SuspensionState(), e.From, e.At)
	}
	w.note("row: %v is released at %v, resuming at %v", e.ID, e.At, e.Resuming)
	if e.From == facts.SuspendedHolding {
		if run := w.truth.attempts[e.ID]; !w.policy.ReleaseSlots || run != nil && run.running {
			w.fail("S18: the slots of %v are given to others, and in truth: %+v", e.ID, run)
		}
		r.held[a.Host] -= a.Slots
		was := r.released[e.ID]
		r.released[e.ID] = simReleased{was.sum, w.now, r.books.skew, was.askew}
		w.some("slots of a suspended item released")
	}
	if !e.Resuming.IsZero() {
		w.some("a resumed item waited for slots")
	}
	a.ReleasedAt, a.ResumingAt = e.At, e.Resuming
}

// stopRelease ends the time for which others might have an attempt's slots.
func (r *simRows) stopRelease(a *facts.AttemptFacts) simReleased {
	was := r.released[a.AttemptID]
	if !a.ReleasedAt.IsZero() {
		was = simReleased{sum: was.sum + r.world.now - was.since, askew: was.askew || was.skew != r.books.skew}
		r.released[a.AttemptID] = was
	}
	return was
}

// goesOn takes an attempt's slots back, of the ones that wait on its host the longest waiting first (S18).
func (r *simRows) goesOn(a *facts.AttemptFacts, e facts.SuspendAttempt) {
	w := r.world
	if a.ResumingAt.IsZero() || !e.At.IsZero() {
		w.fail("S18: %v goes on at %v, and nobody resumed it", e.ID, e.At)
	}
	for b := range r.everyLive() {
		if b.Host == a.Host && b.State == facts.Running && !b.ResumingAt.IsZero() && b.ResumingAt.Before(a.ResumingAt) {
			w.fail("S18: %v goes on, and %v has waited longer on %s", e.ID, b.AttemptID, a.Host)
		}
	}
	r.stopRelease(a)
	if r.held[a.Host] += a.Slots; r.held[a.Host] > r.slots[a.Host] && r.held[a.Host] != a.Slots {
		w.fail("S18: %v goes on, and %d slots are held on %s, whose row has %d", e.ID, r.held[a.Host], a.Host, r.slots[a.Host])
	}
	w.some("a resumed item got its slots back")
}

// checkTurn: what waits on a host to go on comes before new starts there (S18).
func (r *simRows) checkTurn(started facts.AttemptFacts) {
	if !r.world.policy.ReleaseSlots {
		return
	}
	wanted := 0
	for a := range r.everyLive() {
		if a.Host == started.Host && a.State == facts.Running && !a.ResumingAt.IsZero() {
			wanted += a.Slots
		}
	}
	if wanted > 0 && r.held[started.Host]+wanted > r.slots[started.Host] {
		r.world.fail("S18: %v starts on %s, where %d of %d slots are held and %d are wanted to go on", started.AttemptID, started.Host, r.held[started.Host], r.slots[started.Host], wanted)
	}
}

// checkThaw: what has given back its slots runs only when it has them again, or to end (S18).
func (r *simRows) checkThaw(it *simProcess) {
	w := r.world
	a := w.given(truthID(it.attempt))
	if a != nil && a.State == facts.Running && !a.ReleasedAt.IsZero() && !it.ending && w.faults.putBack == "" && len(w.sides) == 0 {
		w.fail("S18: %v runs again, and its slots are given to others", a.AttemptID)
	}
}

// checkReleased: the time that is charged without slots is no longer than others might have them (S18).
func (r *simRows) checkReleased(a *facts.AttemptFacts, e facts.EndAttempt) {
	was := r.stopRelease(a)
	delete(r.released, e.ID)
	if was.askew || r.world.faults.putBack != "" || len(r.world.sides) > 0 {
		return
	}
	if e.Released < 0 || e.Released > was.sum.Seconds()+simCent || e.Wall > 0 && e.Released > e.Suspended || math.IsNaN(e.Released) {
		r.world.fail("S18: %v is charged for %.3f s without its slots, of %.3f s in truth, suspended for %.3f s", e.ID, e.Released, was.sum.Seconds(), e.Suspended)
	}
}

// wakeLater has people resume what they have suspended, once others may have its slots, and mostly think better of it
// while it waits for them. It draws nothing, so that it changes no other draw.
func (c *simClients) wakeLater(e message.JobAction, total int) {
	w, n := c.world, int(c.world.seed%89)+len(c.calls)
	wait := time.Duration(2+n%7) * time.Second
	w.after(wait, func() {
		if !w.calm {
			c.order(message.JobAction{Job: e.Job, Action: facts.Resume, By: "op"}, total)
		}
	})
	then := []facts.Action{"", facts.Kill, facts.Suspend, facts.Preempt, facts.Migrate, facts.Block, facts.Interrupt}[n%7]
	w.after(wait+time.Duration(200+n%900)*time.Millisecond, func() {
		if !w.calm && then != "" {
			c.order(message.JobAction{Job: e.Job, Action: then, By: "op"}, total)
		}
	})
}
