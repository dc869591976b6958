package whatif

import (
	"context"
	"slices"

	"qb/api"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/planner"
)

// Order is the order in which jobs' waiting items would go to a host, by a plan of the farm as it is; behind them those that may not, with
// the reason.
func (t *Trials) Order(ctx context.Context, s planner.Snapshot, placings []explain.Placing, v *message.View) ([]api.JobTurn, error) {
	done, err := t.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	plan := planner.BalanceIn(&t.scratch, s)
	place := map[facts.JobID]int{}
	for n, job := range plan.Order {
		place[facts.JobID(s.Jobs[job].Num)] = n + 1
	}
	slices.SortStableFunc(placings, func(a, b explain.Placing) int { return turnOf(a, place) - turnOf(b, place) })
	turns := []api.JobTurn{}
	for _, p := range placings {
		t := api.JobTurn{Job: int64(p.Job), Code: string(p.Why.Reason), Reason: p.Why.Cause}
		if p.Why.Reason == "" {
			t.Place = len(turns) + 1
		}
		if j := jobIn(v, p.Job); j != nil {
			t.User, t.Name, t.Priority, t.Cluster = j.User, j.Name, j.Priority, j.Cluster
		}
		turns = append(turns, t)
	}
	return turns, nil
}

const last = 1 << 30 // behind all places in an order

// turnOf is the place of a job in the order, behind all others if it may not go to the host.
func turnOf(p explain.Placing, place map[facts.JobID]int) int {
	n, known := place[p.Job]
	if !known {
		n = last / 2
	}
	if p.Why.Reason != "" {
		n += last
	}
	return n
}

// jobIn is the job in a view, nil if it is not there.
func jobIn(v *message.View, id facts.JobID) *facts.JobView {
	if v == nil {
		return nil
	}
	n, found := slices.BinarySearchFunc(v.Jobs, id, func(j facts.JobView, id facts.JobID) int { return int(j.ID - id) })
	if !found {
		return nil
	}
	return &v.Jobs[n]
}
