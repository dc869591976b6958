package sim

import (
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/worker/core"
)

// suspend has the item stand still, or go on, as its shim was ordered.
func (s *simShim) suspend(o core.SuspendItem) {
	w, it := s.host.world, s.item
	if it == nil || it.attempt != o.Attempt || it.over || it.stopped {
		return
	}
	if it.number = o.SuspensionID; it.suspended == o.Suspended {
		s.sayUnstarted(it)
		return
	}
	it.hold(w.now, o.Suspended)
	if o.Suspended {
		w.note("%s suspends %v", s.host.name, it.attempt)
		w.some("an item was suspended")
	} else {
		it.wentOn++
		w.rows.checkWentOn(truthID(it.attempt), it.wentOn)
		w.some("a suspended item went on")
	}
	s.checkLease()
	s.sayUnstarted(it)
}

// provenSuspension is the number of the suspension under which nothing of the item runs, 0 if something may.
func (it *simProcess) provenSuspension() int64 {
	if !it.suspended || it.run != nil && !it.frozen || it.over || it.exited || it.ending || it.killing {
		return 0
	}
	return it.number
}

// sayUnstarted tells the agent of an item, nothing of which runs yet, that it is frozen.
func (s *simShim) sayUnstarted(it *simProcess) {
	if n := it.provenSuspension(); n != 0 && it.run == nil {
		s.say(func(l *simLink) { l.a.post(core.ShimMeasured{Key: s.intent.key, SuspensionID: n}) })
	}
}

// release ends a suspension before the item is stopped, so that it hears its TERM.
func (s *simShim) release(it *simProcess) {
	if it.suspended {
		s.host.world.some("a suspended item was stopped")
		it.hold(s.host.world.now, false)
		s.checkLease()
	}
}

func (it *simProcess) hold(now time.Duration, stand bool) {
	if it.suspended && it.run != nil {
		it.stood += now - max(it.since, it.began)
	}
	it.suspended, it.since = stand, now
}

func (it *simProcess) suspendedUntil(then time.Duration) time.Duration {
	if !it.suspended {
		return it.stood
	}
	return it.stood + then - max(it.since, it.began)
}

func (it *simProcess) ran(then time.Duration) time.Duration {
	return then - it.began - it.suspendedUntil(then)
}

// suspend takes in that an attempt is to stand still, or to go on (S16).
func (r *simRows) suspend(e facts.SuspendAttempt) {
	w := r.world
	a := r.checkLive(e.ID, "suspended or resumed")
	if a == nil {
		return
	}
	if a.State != facts.Running || a.SuspendedAt.IsZero() == e.At.IsZero() || e.Seconds < a.Suspended || e.Released < a.Released {
		w.fail("S16: %v is %s, suspended at %v after %v s (%v s released), and is written as suspended at %v after %v s (%v s released)",
			e.ID, a.State, a.SuspendedAt, a.Suspended, a.Released, e.At, e.Seconds, e.Released)
	}
	w.note("row: %v suspended at %v", e.ID, e.At)
	if !a.ReleasedAt.IsZero() {
		r.goesOn(a, e)
	}
	a.SuspendedAt, a.Suspended = e.At, e.Seconds
	a.ReleasedAt, a.Released, a.ResumingAt = time.Time{}, e.Released, time.Time{}
	if e.At.IsZero() {
		r.resumed[e.ID]++
		delete(r.standing, e.ID)
	} else {
		r.standing[e.ID] = w.now
	}
}

// checkWentOn: what is suspended goes on no more often than rows say so (S16). Only a database that was put back
// may have forgotten that.
func (r *simRows) checkWentOn(id facts.AttemptID, times int) {
	if w := r.world; times > r.resumed[id] && w.faults.putBack == "" && len(w.sides) == 0 {
		w.fail("S16: %v goes on, the %d. time, and rows resumed it %d times", id, times, r.resumed[id])
	}
}

// checkStanding: what is suspended makes no progress, as soon as its host has surely heard of it (S16).
func (w *simWorld) checkStanding(calm time.Duration) {
	for a := range w.rows.everyLive() {
		since, stands := w.rows.standing[a.AttemptID]
		run := w.truth.attempts[a.AttemptID]
		if !stands || a.State != facts.Running || run == nil || w.now-max(since, calm+simHealed) <= simKilled {
			continue
		}
		if run.running && w.now-run.resumed > simKilled { // else its host, which is short of memory, may be stopping it
			w.fail("S16: %v is suspended for %s, and runs on %s", a.AttemptID, w.now-since, run.on.name)
		}
		w.some("a suspended item made no progress")
	}
}

// resume ends what people have suspended, once all of it has was stopped for a while.
func (c *simClients) resume(j *simJobRow) {
	for a := range c.world.rows.everyLive() {
		if since, stands := c.world.rows.standing[a.AttemptID]; stands && a.ResumingAt.IsZero() && a.Job == j.facts.ID && c.world.now-since < 3*simKilled {
			return
		}
	}
	c.order(message.JobAction{Job: j.facts.ID, Action: facts.Resume, By: "op"}, j.items)
}

// suspended says whether the job is, or an attempt of it.
func (r *simRows) suspended(j *simJobRow) bool {
	for a := range r.everyLive() {
		if a.Job == j.facts.ID && a.State == facts.Running && !a.SuspendedAt.IsZero() && a.ResumingAt.IsZero() {
			return true
		}
	}
	return j.facts.State == facts.Suspended
}
