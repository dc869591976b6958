package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// onHostRemoved forgets a host, so that its name is free for another machine. One that may still run items is not listened to
// from now on, so that no lease there lasts longer, and is forgotten when its items have been given up.
func (f *Farm) onHostRemoved(now time.Time, e message.HostRemoved) {
	h := f.hosts.byID[e.Host]
	switch {
	case h == nil:
		f.out.Refuse(e.Ticket, "not-found", "there is no host %q; qbhosts lists them", e.Host)
		return
	case len(h.instances) > 0 && (!e.Dead || h.speaks(now, f.policy.Liveness)):
		h.LockedBy, h.LockReason = e.By, string(facts.ReasonBeingRemoved)
		f.putHost(h)
		f.silence(h)
		f.planStale, f.planNow = true, true
		f.out.Answer(e.Ticket, message.HostReply{Host: h.ID, Pending: len(h.instances), Wait: h.leaseLeft(now)})
		return
	}
	n := f.loseAll(now, h, facts.Because(facts.ReasonConfirmedDead, facts.Params{By: e.By, Host: h.ID}, ""))
	f.forget(now, h, e.By)
	f.out.Answer(e.Ticket, message.HostReply{Host: h.ID, Affected: n})
}

// removing says whether a person has removed the host, whose items are still to be given up.
func (h *host) removing() bool { return h.LockReason == string(facts.ReasonBeingRemoved) }

func (f *Farm) maybeForget(now time.Time, h *host) {
	if h.removing() && len(h.instances) == 0 && !f.out.Spent() {
		f.forget(now, h, h.LockedBy)
	}
}

func (f *Farm) forget(now time.Time, h *host, by string) {
	f.dropHost(h)
	f.out.Write(facts.ForgetHost{Host: h.ID})
	f.out.Record(now, facts.EventFacts{Type: "host-removed", Host: h.ID, Item: -1, Instance: -1, By: by, Why: facts.Why{Cause: h.Whereabouts()}})
	f.planStale, f.planNow = true, true
}

// speaks says whether a person's word that the host is dead would be contradicted by its own.
func (h *host) speaks(now time.Time, liveness time.Duration) bool {
	return h.Heard && now.Sub(h.LastSync) <= liveness && !h.onlyStuck()
}

// leaseLeft is how long the longest lease on the host lasts.
func (h *host) leaseLeft(now time.Time) (left time.Duration) {
	for _, i := range h.instances {
		left = max(left, i.leaseEnds.Sub(now))
	}
	return left
}

func (f *Farm) loseAll(now time.Time, h *host, why facts.Why) int {
	n := len(h.instances)
	for _, i := range h.sortedInstances() {
		f.lose(now, i, why)
		f.maybeFinish(now, i.job)
	}
	return n
}

// dropHost takes a host without instances out of the farm.
func (f *Farm) dropHost(h *host) {
	f.silence(h)
	f.hosts.unseat(h)
	delete(f.hosts.byID, h.ID)
	f.registry.Remove(h.ID, &h.Agent)
	f.hosts.changed()
	f.planStale = true
}

// silence refuses the held sync of a host that is removed.
func (f *Farm) silence(h *host) {
	if h.heldSync != nil {
		f.out.Refuse(h.heldSync.ticket, "conflict", "host %q was removed", h.ID)
		h.heldSync, h.due = nil, false
	}
	f.answer = slices.DeleteFunc(f.answer, func(o *host) bool { return o == h })
}

// rename gives a host that runs on under another worker_name that name, with all that runs there. A dead host that
// had the name is forgotten.
func (f *Farm) rename(now time.Time, h *host, to facts.HostID) {
	if old := f.hosts.byID[to]; old != nil {
		f.dropHost(old)
		f.out.Write(facts.ForgetHost{Host: to})
	}
	from := h.ID
	delete(f.hosts.byID, from)
	h.ID = to
	h.DropClaims()
	f.hosts.byID[to] = h
	f.registry.Rename(from, to)
	for _, i := range h.instances {
		i.attempt.Host = to
		i.touch()
	}
	f.hosts.changed()
	f.planStale = true
	f.out.Write(facts.RenameHost{From: from, To: h.HostFacts})
	f.out.Record(now, facts.EventFacts{Type: "host-renamed", Host: to, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: fmt.Sprintf("it was %s until its worker_name changed", from)}})
}
