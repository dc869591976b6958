package farm

import (
	"cmp"
	"time"

	"qb/supervisor/agents"
	"qb/supervisor/facts"
)

// word is the sync as one of its incarnation.
func (e WorkerSynced) word() agents.Word {
	return agents.Word{Incarnation: e.Incarnation, Sequence: e.Sequence}
}

// hostOf finds the host that the agent is, whatever name it reports: the one that has its key, or that is of its machine,
// boot and state folder; else the one of that name.
func (f *Farm) hostOf(row facts.HostFacts) *host {
	named := f.hosts[row.ID]
	if named != nil && named.Key == row.Key && named.Same(row) {
		return named
	}
	var same *host
	for _, o := range f.hosts {
		switch {
		case row.Key != "" && o.Key == row.Key:
			return o
		case o.StateID != "" && o.Same(row) && (same == nil || same.ID > o.ID):
			same = o
		}
	}
	return cmp.Or(same, named)
}

// turnsAway refuses a word that must not be looked at: a stale one, and one of an agent that is not the host, or reports
// the name of another one, unless its claim is granted.
func (f *Farm) turnsAway(now time.Time, h *host, e WorkerSynced) bool {
	own := !agents.Known(h.HostFacts) || h.Same(e.Host)
	if own && f.stale(h, e) || !own && f.refusesClaim(now, h, e) {
		return true
	}
	if other := f.hosts[e.Host.ID]; other != nil && other != h && f.refusesClaim(now, other, e) {
		return true
	}
	if own {
		h.Spoke()
	}
	return false
}

// refusesClaim refuses an agent that claims the host, or its name for a host that it is already, until the claim is granted.
func (f *Farm) refusesClaim(now time.Time, h *host, e WorkerSynced) bool {
	v := h.Claim(now, h.HostFacts, e.Host, e.word(), agents.Situation{
		Busy: len(h.instances) > 0, Same: func() bool { return f.hostOf(e.Host) == h }, Lease: f.policy.ExecutionLease,
	})
	if v.First {
		f.answerSoon(h)
	}
	if v.Event != "" {
		f.out.Record(now, facts.EventFacts{Type: "host-name-claimed", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: v.Event}})
	}
	if v.Refusal != nil {
		f.out.Reject(e.Ticket, v.Refusal)
	}
	return v.Refusal != nil
}

// listen counts the time that the farm has listened in vain for hosts whose names are claimed.
func (f *Farm) listen(now time.Time) {
	passed := min(max(0, now.Sub(f.listened)), listenStep)
	f.listened = now
	for _, h := range f.sortedHosts() {
		h.Listen(now, passed)
	}
}
