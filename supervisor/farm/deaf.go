package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
)

// untaken is what an incarnation was answered since it was last seen to take an answer. A held answer that the
// worker did not wait for is one too, else who asks again and again would never be deaf.
type untaken struct {
	by       string // the incarnation that asked
	sequence uint64 // of its first such answer
	at, last time.Time
}

// maxUntaken is how many agents of a host, one after another, can be answered in vain and each be remembered.
const maxUntaken = 4

// expect remembers an answer until the worker shows what it took.
func (h *host) expect(now time.Time, incarnation string, sequence uint64) {
	for n := range h.untaken {
		if u := &h.untaken[n]; u.by == incarnation {
			if sequence >= u.sequence {
				u.last = now
			}
			return
		}
	}
	if len(h.untaken) < maxUntaken {
		h.untaken = append(h.untaken, untaken{incarnation, sequence, now, now})
	}
}

// noteTaken reads from a sync which answers the agent has received. A new incarnation that knows the term has received
// an answer, so what the host's earlier agents were answered matters no more. A known one may be a delayed message and
// acknowledges only its own answers. Agents that do not report acknowledgements (Heard is 0) are trusted. A greeting
// acknowledges nothing: its agent does not know the term yet.
func (h *host) noteTaken(e WorkerSynced) {
	at := slices.IndexFunc(h.untaken, func(u untaken) bool { return u.by == e.Incarnation })
	switch {
	case e.Heard == 0, at < 0 && e.Incarnation != h.incarnation:
		h.untaken = h.untaken[:0]
	case at >= 0 && e.Heard >= h.untaken[at].sequence:
		taken := h.untaken[at].last
		h.untaken = slices.DeleteFunc(h.untaken, func(u untaken) bool { return !u.at.After(taken) })
	}
}

// doubtHearing is for an agent that takes a name over and was answered nothing since another had it, as one that
// had the name before and knows the term: it is to show first that it hears, as who greets does.
func (h *host) doubtHearing(e WorkerSynced) {
	if !slices.ContainsFunc(h.untaken, func(u untaken) bool { return u.by == e.Incarnation }) {
		h.untaken = []untaken{{e.Incarnation, e.Sequence, h.lastSync, h.lastSync}}
	}
}

// silence is for how long the host is out of touch: nothing comes from it, or nothing arrives there.
func (h *host) silence(now time.Time) time.Duration {
	silent := now.Sub(h.lastSync)
	if len(h.untaken) > 0 {
		silent = max(silent, now.Sub(h.untaken[0].at))
	}
	return silent
}

// deaf says that the host has taken no answer for longer than the liveness, whatever it says meanwhile: the
// network carries one way alone. It gets nothing new. Its leases are lengthened no more: not here, and by no
// answer either, for one of them may arrive after all. So its items freeze there, and then move, as those of
// a silent host do; the first answer that it takes ends it.
func (h *host) deaf(now time.Time, p Policy) bool {
	return len(h.untaken) > 0 && now.Sub(h.untaken[0].at) > p.Liveness
}

// remark is what listings say of a host that does not hear, that the farm itself has locked, or that talks nonsense.
func (h *host) remark(now time.Time, p Policy) (facts.Reason, string) {
	if h.deaf(now, p) && now.Sub(h.lastSync) <= p.Liveness {
		return facts.ReasonHostDeaf, fmt.Sprintf("the host reports, but has not acknowledged a reply for %.0f s; check the network from the supervisor to the host",
			now.Sub(h.untaken[0].at).Seconds())
	}
	if h.LockedBy == lockedByFarm {
		return facts.ReasonLockedByQb, h.lockText()
	}
	if h.doubt != "" {
		return facts.ReasonImpossible, h.doubt
	}
	return "", ""
}

// outOfTouch is why a lease ran out.
func (h *host) outOfTouch(now time.Time, p Policy) facts.Why {
	if h.deaf(now, p) && now.Sub(h.lastSync) <= p.Liveness {
		return facts.Because(facts.ReasonHostDeaf, facts.Params{Host: h.ID}, "")
	}
	return facts.Because(facts.ReasonHostSilent, facts.Params{Host: h.ID}, "")
}
