package sim

import (
	"cmp"

	"qb/smartshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// drawOwners has fairshare rank owners in three worlds of sixteen, with accounts in one of them. What operators give is
// better or worse than the default, or the default itself.
func drawOwners(w *simWorld, p *message.Policy) {
	if w.seed%8 != 6 && w.seed%16 != 13 {
		return
	}
	terms := smartshare.OwnersPriorityOrder
	if w.seed/16%2 == 1 {
		terms = smartshare.OwnersClusterOrder
	}
	p.Share.Order = nil
	for _, t := range terms {
		p.Share.Order = append(p.Share.Order, t.String())
	}
	p.Fairshare.Order, p.DefaultPriority = true, 2
}

// operatorGives says whether the n-th call with a priority is an operator's, in worlds where that matters.
func (w *simWorld) operatorGives(n int) bool {
	return w.policy.Share.ByOwner() && (w.seed+uint64(n))%3 == 0
}

// operatorRank is how far before or behind all an operator put a job.
func (w *simWorld) operatorRank(f facts.JobFacts) int {
	if !w.policy.Share.ByOwner() {
		return 0
	}
	return cmp.Or(f.OperatorPriority, w.policy.DefaultPriority) - w.policy.DefaultPriority
}

// outranks says whether a job may take the slots of another's primaries: by what an operator set, or as its owner's of
// better priority where fairshare ranks owners, else by its priority (S10).
func (w *simWorld) outranks(a, b facts.JobFacts) bool {
	if x, y := w.operatorRank(a), w.operatorRank(b); x != y {
		return x < y
	}
	return a.Priority < b.Priority && (a.User == b.User || !w.policy.Share.ByOwner())
}
