package whatif

import (
	"context"
	"slices"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
	"qb/supervisor/why/explain"
)

// Order returns jobs in the order in which a plan of the current farm would give hosts to their pending items, followed
// by the jobs that may not start, with the reason.
func (t *Trials) Order(ctx context.Context, s planner.Snapshot, placings []explain.Placement,
	v *message.View) ([]api.JobPlacement, error) {
	done, err := t.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	plan := planner.Decide(&t.scratch, s)
	place := map[facts.JobID]int{}
	for n, job := range plan.Order {
		place[facts.JobID(s.Jobs[job].Num)] = n + 1
	}
	slices.SortStableFunc(placings, func(a, b explain.Placement) int { return turnOf(a, place) - turnOf(b, place) })
	turns := []api.JobPlacement{}
	for _, p := range placings {
		t := api.JobPlacement{Job: int64(p.Job), Code: string(p.Why.Reason), Reason: p.Why.Cause}
		if p.Why.Reason == "" {
			t.Place = len(turns) + 1
		}
		if j := jobIn(v, p.Job); j != nil {
			t.User = j.User
			t.Name = j.Name
			t.Priority = j.Priority
			t.Cluster = j.Cluster
		}
		turns = append(turns, t)
	}
	return turns, nil
}

const last = 1 << 30 // behind all places in an order

// turnOf is the place of a job in the order, behind all others if it may not go to the host.
func turnOf(p explain.Placement, place map[facts.JobID]int) int {
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
	n, found := slices.BinarySearchFunc(v.Jobs, id, func(j *facts.JobView, id facts.JobID) int { return int(j.ID - id) })
	if !found {
		return nil
	}
	return v.Jobs[n]
}
