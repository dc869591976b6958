package planner

import (
	"cmp"
	"slices"
)

// peers are jobs among which people set an order by hand.
type peers struct {
	user, cluster string // user "": of all users
	priority      int
	global        int64
}

// byHand lets the orders by hand act. Jobs of one cluster and priority share out anew the places that they have in the
// order: by Global, and those of one user and the same Global by Submit, if that was exchanged among them. So a user's own
// order moves nobody else's jobs, and neither moves jobs of another cluster or priority.
func (s *Snapshot) byHand(order []int) []int {
	share(order, func(j int) (among peers, turn int64, moved bool) {
		job := &s.Jobs[j]
		return peers{cluster: job.Cluster, priority: job.Priority}, job.Global, job.Global != 0
	})
	share(order, func(j int) (among peers, turn int64, moved bool) {
		job := &s.Jobs[j]
		return peers{job.User, job.Cluster, job.Priority, job.Global}, job.Submit, job.Moved
	})
	return order
}

// share gives the places that peers have in the order to them by turn, if one of them was moved; equals stay as they are.
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
