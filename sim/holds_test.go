package sim

import (
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// checkStart: nothing of a job starts before the time that was asked for (S22), by the time of the database, by which a term goes.
func (r *simRows) checkStart(j *simJobRow, a facts.AttemptFacts) {
	if j.facts.StartAt == "" || len(j.attempts) > 0 {
		return
	}
	at, err := time.Parse(time.RFC3339, j.facts.StartAt)
	if err != nil || a.StartedAt.Before(at) {
		r.world.fail("S22: %v starts at %s, and its job not before %s (%v)", a.AttemptID, a.StartedAt, j.facts.StartAt, err)
	}
	r.world.some("a job started after the time that was asked for")
}

// checkDelays: a job does not wait for its start any longer when that has come (S22).
func (t *simTerm) checkDelays() {
	now := t.now()
	for _, j := range t.farm.View(now).Jobs {
		if at, err := time.Parse(time.RFC3339, j.StartAt); err == nil && j.Code == facts.ReasonStartsLater && now.Sub(at) > simDelayed {
			t.supervisor.world.fail("S22: job %d waits for its start, which was at %s, and it is %s", j.ID, j.StartAt, now)
		}
	}
}

// simDelayed is how long after its time a job may be held.
const simDelayed = 3 * time.Second

// checkLocked: nothing starts on a host that is locked, or on its locked slots (S23).
func (r *simRows) checkLocked(a facts.AttemptFacts) {
	h := r.hosts[a.Host]
	switch left := h.Slots - h.Locked; {
	case h.LockedBy != "":
		r.world.fail("S23: %v starts on %s, which %s has locked", a.AttemptID, a.Host, h.LockedBy)
	case h.Locked > 0 && r.held[a.Host] > left:
		r.world.fail("S23: %v starts on %s, where %d slots are held and %d of %d are locked", a.AttemptID, a.Host, r.held[a.Host], h.Locked, h.Slots)
	}
}

// checkPurged: when a lock with purge is acknowledged, what ran on the locked slots is stopped (S23).
func (c *simClients) checkPurged(e message.HostLocked, asked time.Duration, locks int, r outbox.Reply) {
	w := c.world
	if !e.Lock || !e.Purge || r.Err != nil || locks != c.locks {
		return
	}
	h, there, runs := w.rows.hosts[e.Host], 0, 0
	for a := range w.rows.everyLive() {
		if a.Host == e.Host && a.State == facts.Running && w.rows.began[a.AttemptID] < asked {
			there, runs = there+1, runs+a.Taken() // what is suspended may have given its slots back
		}
	}
	if h.LockedBy != "" && there > 0 || h.Locked > 0 && runs > max(0, h.Slots-h.Locked) { // it may have fewer slots since the lock
		w.fail("S23: %s is locked with purge (%q, %d slots), and items go on there on %d slots", e.Host, h.LockedBy, h.Locked, runs)
	}
	w.some("a lock with purge")
}
