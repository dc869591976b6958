package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/outbox"
)

// HostRemoved forgets a host. Dead is a person's word that nothing runs there any more.
type HostRemoved struct {
	Ticket outbox.Ticket
	Host   facts.HostID
	Dead   bool
	By     string
}

func (HostRemoved) event() {}

// onHostRemoved forgets a host that is silent and has nothing to run, so that its name is free for another machine.
func (f *Farm) onHostRemoved(now time.Time, e HostRemoved) {
	h := f.hosts[e.Host]
	switch {
	case h == nil:
		f.out.Refuse(e.Ticket, "not-found", "there is no host %q; qbhosts lists them", e.Host)
		return
	case f.speaks(now, h):
		f.out.Refuse(e.Ticket, "conflict", "host %q was heard %.0f s ago; stop its worker, and remove the host when it has been silent for %s", e.Host, now.Sub(h.LastSync).Seconds(), f.policy.Liveness)
		return
	case len(h.instances) > 0 && !e.Dead:
		f.out.Refuse(e.Ticket, "conflict", "host %q may still run %d items, which wait for its execution lease (at most %s); remove it then, or add -confirm-dead if nothing runs there",
			e.Host, len(h.instances), h.leaseLeft(now).Round(time.Second))
		return
	}
	n := f.loseAll(now, h, facts.Because(facts.ReasonConfirmedDead, facts.Params{By: e.By, Host: h.ID}, ""))
	f.dropHost(h)
	f.out.Write(facts.ForgetHost{Host: h.ID})
	f.out.Record(now, facts.EventFacts{Type: "host-removed", Host: h.ID, Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: h.Whereabouts()}})
	f.dirty, f.urgent = true, true
	f.out.Answer(e.Ticket, HostReply{Host: h.ID, Affected: n})
}

// speaks says whether a person's word that the host is dead would be contradicted by its own.
func (f *Farm) speaks(now time.Time, h *host) bool {
	return h.Heard && now.Sub(h.LastSync) <= f.policy.Liveness && !h.onlyStuck()
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
	if h.parked != nil {
		f.out.Refuse(h.parked.ticket, "conflict", "host %q was removed", h.ID)
		h.parked, h.due = nil, false
	}
	f.answer = slices.DeleteFunc(f.answer, func(o *host) bool { return o == h })
	f.unseat(h)
	delete(f.hosts, h.ID)
	f.registry.Remove(h.ID, &h.Agent)
	f.hostsChanged()
}

// hostsChanged notes that a host has gone or has another name.
func (f *Farm) hostsChanged() {
	f.byName, f.properties, f.capacity, f.dirty = nil, nil, nil, true
}

// rename gives a host that runs on under another worker_name that name, with all that runs there. A dead host that
// had the name is forgotten.
func (f *Farm) rename(now time.Time, h *host, to facts.HostID) {
	if old := f.hosts[to]; old != nil {
		f.dropHost(old)
		f.out.Write(facts.ForgetHost{Host: to})
	}
	from := h.ID
	delete(f.hosts, from)
	h.ID = to
	h.DropClaims()
	f.hosts[to] = h
	f.registry.Rename(from, to)
	for _, i := range h.instances {
		i.attempt.Host = to
		i.touch()
	}
	f.hostsChanged()
	f.out.Write(facts.RenameHost{From: from, To: h.HostFacts})
	f.out.Record(now, facts.EventFacts{Type: "host-renamed", Host: to, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: fmt.Sprintf("it was %s until its worker_name changed", from)}})
}
