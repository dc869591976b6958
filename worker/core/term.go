package core

import (
	"bytes"
	"slices"
	"time"

	"qb/api"
)

// obeyFor is how long a worker obeys no other database after an answer of the database that it obeys. An answer takes
// at most Hold, and less after a failure, so that a supervisor that is there is never silent for so long.
const obeyFor = 10 * time.Second

// cautiousHold is the longest hold that is asked for after a sync that failed, so that the silence of a supervisor that
// is there stays well below obeyFor.
const cautiousHold = 2 * time.Second

// TermRecord is what a worker keeps of terms over restarts of its agent. Without a signature it has obeyed none yet.
type TermRecord struct {
	Term       api.Term `json:"term"`
	Superseded []string `json:"superseded,omitempty"` // lineages obeyed before, never again
}

// signed reports whether the worker has obeyed a term, and so has pinned the farm's key.
func (r TermRecord) signed() bool { return len(r.Term.Signature) > 0 }

// TermRefusal is why an answer was not obeyed.
type TermRefusal string

// The reasons.
const (
	TermUnsigned   TermRefusal = "unsigned"
	TermForged     TermRefusal = "bad-signature" // or the answer's epoch is not the signed one
	TermOtherFarm  TermRefusal = "other-farm"    // signed with another key than the pinned one
	TermLower      TermRefusal = "lower-term"
	TermOlder      TermRefusal = "older-timeline" // of a server from which the farm has moved on to a promoted replica
	TermOther      TermRefusal = "other-database" // while the obeyed database has answered a moment ago
	TermSuperseded TermRefusal = "superseded"     // of a database that this worker obeyed before
)

// RefusedTerm says that an answer was ignored, since this worker does not obey its term.
type RefusedTerm struct {
	Why   TermRefusal
	Epoch int64    // of the answer
	Held  api.Term // the obeyed database
}

// SaveTerm keeps the highest term obeyed over restarts of the agent.
type SaveTerm struct{ Record TermRecord }

func (RefusedTerm) command() {}
func (SaveTerm) command()    {}

// obey says whether an answer is one of a term that this worker obeys, and keeps a new one.
func (c *Core) obey(reply api.SyncReply) bool {
	term, why := c.judge(reply)
	if why != "" {
		c.order(RefusedTerm{why, reply.Epoch, c.held.Term})
		return false
	}
	if !term.Same(c.held.Term) {
		if c.held.signed() && term.Lineage != c.held.Term.Lineage {
			// A list that is full forgets the oldest, which is long gone; the slice may be in an order already.
			c.held.Superseded = append(slices.Clone(c.held.Superseded), c.held.Term.Lineage)
			c.held.Superseded = c.held.Superseded[max(0, len(c.held.Superseded)-api.MaxSuperseded):]
		}
		c.held.Term = term
		c.order(SaveTerm{c.held})
	}
	c.obeyed = c.now
	return true
}

// judge compares an answer's term with the one held. The first signed term is believed whatever its number.
func (c *Core) judge(reply api.SyncReply) (term api.Term, why TermRefusal) {
	held := c.held.Term
	if reply.Term == nil || len(reply.Term.Signature) == 0 {
		return term, TermUnsigned
	}
	term = *reply.Term
	switch {
	case term.Epoch != reply.Epoch || len(term.Lineage) > api.MaxLineage:
		return term, TermForged
	case term.Same(held):
		return term, ""
	case c.held.signed() && !bytes.Equal(term.Farm, held.Farm):
		return term, TermOtherFarm
	case !term.Signed():
		return term, TermForged
	case !c.held.signed():
		return term, ""
	case term.Lineage == held.Lineage && term.Timeline > 0 && term.Timeline < held.Timeline:
		return term, TermOlder
	case term.Lineage == held.Lineage:
		if term.Epoch <= held.Epoch { // of an equal one, too: it is another term
			return term, TermLower
		}
		return term, ""
	case slices.Contains(c.held.Superseded, term.Lineage):
		return term, TermSuperseded
	case term.Epoch <= held.Epoch:
		return term, TermLower
	case c.now-c.obeyed < obeyFor:
		return term, TermOther
	}
	return term, ""
}

// heldTerm is what each sync says of terms.
func (c *Core) heldTerm() *api.AcceptedTerm {
	if !c.held.signed() {
		return nil
	}
	t := c.held.Term
	return &api.AcceptedTerm{
		Lineage: t.Lineage, Epoch: t.Epoch, Began: t.Began, Proof: t.Proof(), SilentSeconds: (c.now - c.obeyed).Seconds(),
		Superseded: c.held.Superseded,
		Timeline:   t.Timeline, TimelineProof: t.TimelineProof(),
	}
}
