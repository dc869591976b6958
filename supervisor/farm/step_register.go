package farm

import (
	"slices"
	"time"

	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// registration is the sync of a worker that has heard no answer of this term; it is answered at the next Take.
type registration struct {
	ticket      outbox.Ticket
	incarnation string
	sequence    uint64
	host        facts.HostFacts
	holds       map[facts.JobID]int64
	ended       []facts.AttemptID // said to have ended
}

// onGreeting takes in the word of an agent that has heard nothing of this term. It may be as old as a message
// can be: read late from a socket, or written by an agent, on a boot, that another has followed. So nothing
// is concluded from what it does not list, nor from who it says it is. The answer carries the term; an agent
// that has heard it obeys no former term any more, and follows all agents that greeted before it.
//
// Ends are true whenever they are reported. Those of attempts that the answer will not list are taken in now,
// for the worker forgets what no answer lists; of the others it speaks again. If one of these has been stopped by the
// time the answer is made, there is no answer, and the worker greets again.
func (f *Farm) onGreeting(now time.Time, e message.WorkerSynced) {
	id := e.Host.ID // of a host that is not known yet
	if h := f.hosts.Of(e.Host); h != nil {
		id = h.ID
		if f.syncs.turnsAway(now, h, e) {
			return
		}
		if e.ReadOnly {
			h.Heard = true
			h.Hear(now)
		}
		f.endReported(now, h, e.Finished, func(i *model.Instance) bool { return unlisted(i) && i.GivenUnder(e.Host) })
		f.countLate(now, e.Host, e.Finished)
	}
	f.syncs.registry.Note(id, e.Word())
	if id != e.Host.ID {
		f.syncs.registry.NoteClaim(e.Host.ID, e.Word())
	}
	if e.Left {
		return
	}
	g := registration{ticket: e.Ticket, incarnation: e.Incarnation, sequence: e.Sequence, host: e.Host, holds: e.Jobs}
	for _, end := range e.Finished {
		g.ended = append(g.ended, end.Attempt)
	}
	f.syncs.registrations = append(f.syncs.registrations, g)
}

// unlisted says whether an answer omits an instance's attempt, or the next attempt that it holds ahead.
func unlisted(i *model.Instance) bool { return i.Stopping() || model.AsksBack(i) }

// forgets says whether the answer to a greeting would have the worker forget an end that was not taken in.
func (g *registration) forgets(h *model.Host) bool {
	if len(g.ended) == 0 {
		return false
	}
	on := h.ByAttempt()
	return slices.ContainsFunc(g.ended, func(id facts.AttemptID) bool {
		i := on[id]
		return i != nil && unlisted(i) && i.GivenUnder(g.host)
	})
}

func (sy *syncs) answerGreetings(now time.Time) {
	for _, g := range sy.registrations {
		reply := newReply(&sy.policy, g.host.ID, g.sequence, agents.LastAnswer(g.sequence))
		if h := sy.hosts.Of(g.host); h != nil && !h.Removing() {
			if g.forgets(h) {
				sy.out.Refuse(g.ticket, "conflict", "an item that sync %d of host %q says has ended was stopped meanwhile; send it again",
					g.sequence, h.ID)
				continue
			}
			h.FillReply(now, &sy.policy, g.host, g.holds, 0, &reply)
			h.Expect(now, g.incarnation, reply.Number)
		}
		sy.out.Answer(g.ticket, reply)
	}
	sy.registrations = sy.registrations[:0]
}

// turnsAway refuses a word that must not be looked at: a stale one, and one of an agent that is not the host, or
// reports the name of another one, unless its claim is granted.
func (sy *syncs) turnsAway(now time.Time, h *model.Host, e message.WorkerSynced) bool {
	if h.Removing() {
		sy.registry.Note(h.ID, e.Word())
		sy.out.Refuse(e.Ticket, "conflict",
			"host %q was removed; it may join again when its items have been given up, in at most %s", h.ID,
			h.LeaseLeft(now).Round(time.Second))
		return true
	}
	own := !agents.Known(h.HostFacts) || h.Same(e.Host)
	if own && sy.stale(h, e) || !own && sy.refusesClaim(now, h, e) {
		return true
	}
	if other := sy.hosts.ByID[e.Host.ID]; other != nil && other != h && sy.refusesClaim(now, other, e) {
		return true
	}
	if own {
		h.Spoke()
	}
	return false
}

// refusesClaim refuses an agent that claims the host, or its name for a host that it is already, until the claim is
// granted.
func (sy *syncs) refusesClaim(now time.Time, h *model.Host, e message.WorkerSynced) bool {
	if sy.registry.Late(h.ID, e.Word()) {
		sy.out.Refuse(e.Ticket, "conflict", "sync %d of host %q came after a later one", e.Sequence, h.ID)
		return true
	}
	sy.registry.NoteClaim(h.ID, e.Word())
	h.Noted()
	v := h.Claim(now, h.HostFacts, e.Host, agents.Situation{
		Busy: !h.Idle(), Same: func() bool { return sy.hosts.Of(e.Host) == h },
		Lease: max(sy.policy.ExecutionLease, sy.policy.Promised.Lease),
	})
	if v.First {
		sy.answerSoon(h)
	}
	if v.Event != (facts.Why{}) {
		sy.out.Record(now, facts.EventFacts{Type: "host-name-claimed", Host: h.ID, Item: -1, Instance: -1,
			By: model.LockedByFarm, Why: v.Event})
	}
	if v.Refusal != nil {
		sy.out.Reject(e.Ticket, v.Refusal)
	}
	return v.Refusal != nil
}
