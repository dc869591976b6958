package sim

import (
	"slices"
	"testing"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simLeft is when an attempt was stopped for its job to go to another host.
type simLeft struct {
	at    time.Duration
	other facts.HostID // that surely served the job then, "" if none did
}

// simHeard is since when a host has been heard without a break, by one term or by several that followed each other.
type simHeard struct {
	epoch             int64
	first, last, well time.Duration
}

// A decision is durable, or its term is over, within simDecided.
const simDecided = 6 * time.Second

// hear notes that a leader reads what a host says, which it does every few seconds.
func (v *simVerbs) hear(host facts.HostID, epoch int64, now time.Duration) {
	h := v.heard[host]
	longest := 4 * time.Second
	if h.epoch != epoch { // the term before may have been left in peace for some time
		longest, h.epoch, h.first = 18*time.Second, epoch, now
	}
	if now-h.last > longest {
		h.well = now
	}
	h.last = now
	v.heard[host] = h
}

// surely is a host on which the job could be without a break since then, if any but the one is: no model of where jobs may run, but
// the plainest case of it.
func (r *simRows) surely(j *simJobRow, than facts.HostID, since time.Duration) facts.HostID {
	w, v := r.world, &r.world.clients.verbs
	most := max(2*w.policy.Memory.Default, simGB)
	for _, list := range j.attempts {
		for _, a := range list {
			most = max(most, 2*a.Memory, 2*a.Peak)
		}
	}
	for _, h := range w.hosts {
		id := facts.HostID(h.worker)
		heard := v.heard[id]
		spoke := heard.epoch == r.epoch && heard.first < since-time.Second && heard.well < since-time.Second && w.now-heard.last < 4*time.Second
		fits := h.offer() >= most && (h.gpus > 0 || j.facts.Reservations != simGPU+"=1") && j.facts.Requirements == "" && h.serves(j.facts.User) && h.refusedAt == 0
		if row := r.hosts[id]; id != than && !j.troubledOn(id) && spoke && fits && row.LockedBy == "" && row.Locked == 0 && v.shut[id] <= since {
			return id
		}
	}
	return ""
}

// troubledOn says whether something of the job failed on a host or was migrated from there, so that it may avoid that, too.
func (j *simJobRow) troubledOn(host facts.HostID) bool {
	for _, list := range j.attempts {
		for _, a := range list {
			if a.Host == host && (a.State == facts.Failed || a.Reason == facts.ReasonMigrated) {
				return true
			}
		}
	}
	return false
}

// leave takes in that an attempt stops for its job to go elsewhere, as the history tells.
func (r *simRows) leave(e facts.EventFacts) {
	if v := &r.world.clients.verbs; v.on && e.Reason == facts.ReasonMigrated {
		decided := e.At.Sub(simStart) - r.books.skew
		v.left[r.jobs[e.Job].latest(e.Item).AttemptID] = simLeft{decided, r.surely(r.jobs[e.Job], e.Host, decided)}
	}
}

// checkAvoided: a job from which something was migrated begins nothing on that host for as long as the site wants it to avoid that,
// whichever term leads, if another host serves it all the time (S28).
func (r *simRows) checkAvoided(j *simJobRow, a facts.AttemptFacts) {
	w := r.world
	for n := range j.items {
		for _, b := range j.attempts[facts.ItemNo(n)] {
			left, was := w.clients.verbs.left[b.AttemptID]
			if !was || b.Reason != facts.ReasonMigrated && b.State != facts.Done || left.other == "" || w.now > left.at+w.policy.AvoidFor-simDecided {
				continue
			}
			if lifted, ever := w.clients.verbs.lifted[a.Job]; ever && lifted+2*simDecided > left.at || w.clients.lifts(a.Job) {
				continue
			}
			if !r.served(left.other, left.at) || j.troubledOn(left.other) {
				continue
			}
			if b.Host != a.Host {
				w.some("a job avoided the host from where it was migrated")
				continue
			}
			w.fail("S28: %v starts on %s, from where %v was migrated %s ago, and %s served the job", a.AttemptID, a.Host, b.AttemptID, w.now-left.at, left.other)
		}
	}
}

// served says whether a host has been the same since then.
func (r *simRows) served(host facts.HostID, since time.Duration) bool {
	w := r.world
	h, heard := w.host(string(host)), w.clients.verbs.heard[host]
	row := r.hosts[host]
	return row.LockedBy == "" && row.Locked == 0 && w.clients.verbs.shut[host] < since && heard.well < since && w.now-heard.last < 18*time.Second && h.refusedAt == 0 && len(h.closed) == 0
}

// lifts says whether an order is still to be answered that lets a job go anywhere.
func (c *simClients) lifts(job facts.JobID) bool {
	return slices.ContainsFunc(c.calls, func(call *simCall) bool { return !call.over && call.lifts == job })
}

// simLifts let a job go anywhere at once.
var simLifts = []facts.Action{facts.Retry, facts.Requeue, facts.Redo, facts.Unblock, facts.Shove}

// TestBarMigrated (S28): what is migrated runs elsewhere, also if the leader dies meanwhile.
func TestBarMigrated(t *testing.T) {
	migrated := 0
	for seed := uint64(1); seed <= simScripts; seed++ {
		w := newVerbsWorld(seed)
		w.at(simScriptAt, func() {
			for _, h := range w.hosts {
				if ids := w.liveOn(h); len(ids) > 0 {
					e := message.JobAction{Job: ids[0].Job, Action: facts.Migrate, By: "op"}
					call := w.clients.order(e, w.rows.jobs[ids[0].Job].items)
					done := call.done
					call.done = func(r outbox.Reply) { done(r); migrated++ }
					w.after(time.Duration(seed%4)*time.Second, func() {
						for _, s := range w.supervisors {
							if seed%2 == 0 && s.term != nil {
								s.kill()
								s.start()
							}
						}
					})
				}
			}
		})
		if w.live(); w.failure != "" {
			t.Errorf("%s\nseed %d: %s", w.story(), seed, w.failure)
			return
		}
	}
	if migrated < simScripts {
		t.Errorf("only %d orders to migrate in %d worlds", migrated, simScripts)
	}
}
