package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// onHostRemoved forgets a host, so that its name is free for another machine. A host that may still run items is not
// listened to from now on, so that no lease there lasts longer, and is forgotten when its items have been given up.
func (f *Farm) onHostRemoved(now time.Time, e message.HostRemoved) {
	h := f.named(e.Ticket, e.Host)
	switch {
	case h == nil:
		return
	case len(h.Instances) > 0 && (!e.Dead || h.Speaks(now, f.policy.Liveness)):
		h.LockedBy, h.LockReason = e.By, string(facts.ReasonBeingRemoved)
		f.putHost(h)
		f.syncs.silence(h, "host %q was removed", h.ID)
		f.planStale, f.planNow = true, true
		f.out.Answer(e.Ticket, message.HostReply{Host: h.ID, Pending: len(h.Instances), Wait: h.LeaseLeft(now)})
		return
	}
	n := f.loseAll(now, h, facts.Because(facts.ReasonConfirmedDead, facts.Params{By: e.By, Host: h.ID}, ""))
	f.syncs.forget(now, h, e.By)
	f.out.Answer(e.Ticket, message.HostReply{Host: h.ID, Affected: n})
}

func (sy *syncs) maybeForget(now time.Time, h *model.Host) {
	if h.Removing() && len(h.Instances) == 0 && !sy.out.Spent() {
		sy.forget(now, h, h.LockedBy)
	}
}

func (sy *syncs) forget(now time.Time, h *model.Host, by string) {
	sy.dropHost(h)
	sy.out.Write(facts.ForgetHost{Host: h.ID})
	sy.out.Record(now, facts.EventFacts{Type: "host-removed", Host: h.ID, Item: -1, Instance: -1, By: by,
		Why: facts.Why{Cause: h.Whereabouts()}})
	sy.planStale, sy.planNow = true, true
}

func (f *Farm) loseAll(now time.Time, h *model.Host, why facts.Why) int {
	n := len(h.Instances)
	for _, i := range h.SortedInstances() {
		f.lose(now, i, why)
	}
	f.programs.goneOf(h, func(*model.Instance) bool { return true })
	return n
}

// dropHost takes a host without instances out of the farm.
func (sy *syncs) dropHost(h *model.Host) {
	sy.silence(h, "host %q was removed", h.ID)
	for _, i := range h.SortedPrograms() {
		model.Unload(i)
	}
	sy.hosts.Unseat(h)
	sy.hosts.Drop(h)
	sy.registry.Remove(h.ID)
	sy.hosts.Changed()
	sy.planStale = true
}

// silence refuses the held syncs of a host, if there are any.
func (sy *syncs) silence(h *model.Host, format string, args ...any) {
	if h.WaitingSync != nil {
		sy.out.Refuse(h.WaitingSync.Ticket, "conflict", format, args...)
		sy.out.Refuse(h.WaitingSync.Former, "conflict", format, args...)
	}
	h.WaitingSync, h.Due = nil, false
	sy.answer = slices.DeleteFunc(sy.answer, func(o *model.Host) bool { return o == h })
}

// rename gives a host that runs on under another worker_name that name, with all that runs there. A dead host that
// had the name is forgotten.
func (sy *syncs) rename(now time.Time, h *model.Host, to facts.HostID) {
	if old := sy.hosts.ByID[to]; old != nil {
		sy.dropHost(old)
		sy.out.Write(facts.ForgetHost{Host: to})
	}
	from := h.ID
	sy.hosts.Drop(h)
	h.ID = to
	h.DropClaims()
	sy.hosts.Add(h)
	sy.registry.Rename(from, to)
	for i := range h.Holding() {
		i.Attempt.Host = to
		if i.Next != nil {
			i.Next.Attempt.Host = to
		}
		i.Touch()
	}
	sy.hosts.Changed()
	sy.planStale = true
	sy.out.Write(facts.RenameHost{From: from, To: h.HostFacts})
	sy.out.Record(now, facts.EventFacts{Type: "host-renamed", Host: to, Item: -1, Instance: -1, By: model.LockedByFarm,
		Why: facts.Why{Cause: fmt.Sprintf("the host was %s until its worker_name changed", from)}})
}
