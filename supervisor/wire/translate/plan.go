package translate

import (
	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

func stopDoc(s *planner.Snapshot, p *planner.PlannedStop) api.BalanceStop {
	stop := api.BalanceStop{ID: s.Running[p.Instance].ID, Why: p.Why.String(), Drain: p.Drain.String()}
	if p.For >= 0 {
		stop.For = new(s.Jobs[p.For].ID)
	}
	if p.NotBefore > 0 {
		stop.NotBefore = new(p.NotBefore)
	}
	return stop
}

// PlanDoc is a plan in the words of the contract.
func PlanDoc(s *planner.Snapshot, p planner.Plan) api.BalanceDoc {
	instances := func(list []int) []string {
		ids := make([]string, len(list))
		for n, i := range list {
			ids[n] = s.Running[i].ID
		}
		return ids
	}
	doc := api.BalanceDoc{Jobs: make(map[string]api.BalanceJob), FreeSlots: p.Free, Stop: instances(p.Stop),
		Promoted: instances(p.Promoted), Demoted: instances(p.Demoted), Leaving: instances(p.Leaving),
		Order: make([]string, len(p.Order)), LostWork: p.LostWork, Starts: make([]api.BalanceStart, len(p.Starts)),
		Stops: make([]api.BalanceStop, len(p.Stops)), Preempted: make([]api.BalancePreemption, len(p.Preempted)),
		Closing: []api.BalanceClose{}}
	for n, j := range p.Order {
		doc.Order[n] = s.Jobs[j].ID
	}
	for n, y := range p.Preempted {
		doc.Preempted[n] = api.BalancePreemption{ID: s.Running[y.Instance].ID, For: s.Jobs[y.For].ID, Drain: y.Drain}
	}
	for _, c := range s.Closing(&p) {
		doc.Closing = append(doc.Closing, api.BalanceClose{ID: s.Running[c.Instance].ID, Why: c.Why.String()})
	}
	for n := range p.Stops {
		doc.Stops[n] = stopDoc(s, &p.Stops[n])
	}
	for n, start := range p.Starts {
		doc.Starts[n] = api.BalanceStart{
			Job: s.Jobs[start.Job].ID, Kind: start.Kind.String(), Host: s.Hosts[start.Host].Name, After: start.When.String(),
		}
		if start.When == planner.Now {
			doc.Starts[n].At = new(s.Now)
		}
	}
	for j, job := range p.Jobs {
		doc.Jobs[s.Jobs[j].ID] = api.BalanceJob{Primary: job.Primary, Secondary: job.Secondary, Floor: job.Floor,
			Ceiling: job.Ceiling, StartPrimary: job.StartPrimary, StartSecondary: job.StartSecondary, Stop: job.Stop}
	}
	if r := p.Reserved; r != nil {
		doc.Reserved = &api.BalanceReserved{
			Job: s.Jobs[r.Job].ID, Kind: facts.Primary.String(), Host: s.Hosts[r.Host].Name, Slots: r.Slots, At: r.At,
		}
	}
	if p.Immediate != nil {
		doc.Immediate = make(map[string][2]int)
		for j, counts := range p.Immediate {
			doc.Immediate[s.Jobs[j].ID] = [2]int{counts.Primary, counts.Secondary}
		}
	}
	return doc
}
