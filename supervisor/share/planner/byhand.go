package planner

import (
	"cmp"
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// Leaves says what of a job changes by which it may leave those among whom it was ordered by hand.
type Leaves struct {
	Cluster, Priority, Operator bool // is another; Operator: the priority that an operator gave
	ByOperator                  bool // an operator or admin makes the change
}

// GlobalAfter is what a change leaves of a job's order among all. Where that goes before fairshare its owner cannot
// shake it off.
func (p *SharePolicy) GlobalAfter(global int64, c Leaves) int64 {
	switch byOwner := p.ByOwner(); {
	case !c.Cluster && (!c.Priority || byOwner && !c.Operator):
		return global
	case byOwner && !c.ByOperator:
		return max(0, global)
	}
	return 0
}

// peers are jobs among which people set an order by hand.
type peers struct {
	user, cluster      string // user "": of all users
	priority, operator int
	global             int64
	fairshare          int // the hundredth of the owner's factor
}

// byHand lets the orders by hand act. Jobs of one cluster and priority share out again the places that they have in the
// order: by Global, and those of one user and the same Global by Submit, if that was exchanged among them. So a user's
// own order moves no other user's jobs, and neither moves jobs of another cluster or priority. Where fairshare ranks
// owners, the priorities that they give do not bound the order among all: an operator's goes before. A user's own order
// takes no job to a place that another of the user's accounts has by its fairshare.
func (s *Snapshot) byHand(order []int) []int {
	byOwner := s.Policy.ByOwner()
	share(order, func(j int) (among peers, turn int64, moved bool) {
		job := &s.Jobs[j]
		among = peers{cluster: job.Cluster, priority: job.Priority, operator: s.Policy.operatorRank(job.Operator)}
		if byOwner && job.Priority != facts.Elite {
			among.priority = facts.Elite + 1
		}
		return among, job.Global, job.Global != 0
	})
	share(order, func(j int) (among peers, turn int64, moved bool) {
		job := &s.Jobs[j]
		return peers{job.User, job.Cluster, job.Priority, s.Policy.operatorRank(job.Operator), job.Global,
			smartshare.FairshareBucket(job.Fairshare)}, job.Submit, job.Moved
	})
	return order
}

// share gives the places that peers have in the order to them by turn, if one of them was moved; equals stay as they
// are.
func share(order []int, of func(j int) (among peers, turn int64, moved bool)) {
	var places map[peers][]int
	for _, j := range order {
		if among, _, moved := of(j); moved {
			if places == nil {
				places = map[peers][]int{}
			}
			places[among] = nil
		}
	}
	if places == nil {
		return
	}
	for place, j := range order {
		among, _, _ := of(j)
		if held, shared := places[among]; shared {
			places[among] = append(held, place)
		}
	}
	for _, held := range places { // no place is in two
		jobs := make([]int, len(held))
		for n, place := range held {
			jobs[n] = order[place]
		}
		slices.SortStableFunc(jobs, func(a, b int) int {
			_, first, _ := of(a)
			_, second, _ := of(b)
			return cmp.Compare(first, second)
		})
		for n, place := range held {
			order[place] = jobs[n]
		}
	}
}
