package farm

import (
	"time"

	"qb/agenda"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
	"qb/supervisor/planner"
)

// Explain says why a job's items wait.
func (f *Farm) Explain(now time.Time, id facts.JobID) (explain.Explanation, bool) {
	j := f.jobs.byID[id]
	if j == nil {
		return explain.Explanation{}, false
	}
	return explain.New(f.explained(now)).Explain(id, f.usage.orderText(now, j))
}

// explained is the farm as explanations see it.
func (f *Farm) explained(now time.Time) *explain.Farm {
	e := &explain.Farm{
		Now: now, Planning: f.planStale, ReplanAt: f.replanAt,
		Policy: explain.Policy{Share: f.policy.Share, Fairshare: f.policy.Fairshare.Weights, Resources: f.policy.Resources, Memory: f.policy.Memory.Default, Turn: f.policy.Share.Turn()},
		Jobs:   make([]explain.Job, 0, len(f.jobs.byID)), Hosts: make([]explain.Host, 0, len(f.hosts.byID)),
		NeedIfAsked: func(id facts.JobID, bytes int64) int64 { return f.admission.needIfAsked(now, f.jobs.byID[id], bytes) },
	}
	if r := f.admission.reserved; r != nil {
		e.Reserved = &explain.Reservation{Job: r.job.ID, Slots: r.job.needs.Slots, Host: r.host.ID, At: r.at}
	}
	instances := 0
	for _, j := range f.jobs.sorted() {
		e.Jobs = append(e.Jobs, f.explainedJob(now, j))
		instances += len(j.instances)
	}
	all, meant := make([]explain.Instance, 0, instances), f.last.meantFor()
	for _, h := range f.hosts.sorted() {
		first := len(all)
		for _, i := range h.instances {
			all = append(all, explain.Instance{Job: i.job.ID, Hold: i.hold(), Slots: i.slots, Holds: i.attempt.Holds})
		}
		e.Hosts = append(e.Hosts, h.explained(now, f.policy, all[first:]))
		e.Hosts[len(e.Hosts)-1].MeantFor = meant[h]
	}
	return e
}

// meantFor are by host the first jobs that, by the last plan, have an instance wait there for an end.
func (p *planned) meantFor() map[*host]facts.JobID {
	meant := map[*host]facts.JobID{}
	if p == nil {
		return meant
	}
	for _, s := range p.awaited {
		if h := p.hosts[s.Host]; meant[h] == 0 {
			meant[h] = p.jobs[s.Job].ID
		}
	}
	return meant
}

func (h *host) explained(now time.Time, p message.Policy, instances []explain.Instance) explain.Host {
	e := explain.Host{Host: &h.Host, Load: load{h, nil}, State: h.state(now, p), Refusing: h.refusing, Free: h.free(), Used: h.used, Away: h.away, Instances: instances}
	if h.limited() {
		e.Limited, e.Full, e.Ledger, e.PerIdle = true, now.Before(h.fullUntil), h.ledger(nil), h.announce()
	}
	return e
}

func (f *Farm) explainedJob(now time.Time, j *job) explain.Job {
	e := explain.Job{
		Job:   fit.Job{JobFacts: &j.JobFacts, Needs: j.needs, Learned: j.memoryNeed},
		Items: j.Entries.Len(), Pending: j.Pending(), Running: j.Tally.Count(agenda.Running), Done: j.Tally.Count(agenda.Complete), Blocked: j.Tally.Count(agenda.Blocked),
		Failed: j.Tally.Count(agenda.Failed), Failure: j.failure,
		Held: j.held(), Width: j.width(&f.policy.Share), Due: f.due[j.ID], MemoryUse: j.memoryUse(),
	}
	e.Primary, e.Secondary, e.Draining = j.counts()
	if j.limit != nil {
		e.OverBudget = j.limit.Why()
	}
	if r := f.admission.reserved; r != nil {
		e.MayUseReserved = f.admission.mayUse(now, j, r.host, j.nextKind())
	}
	for _, o := range j.orders {
		e.Orders = append(e.Orders, o.OrderFacts)
	}
	return e
}

// hold is how the instance holds its slots.
func (i *instance) hold() explain.Hold {
	protected := i.protected()
	switch {
	case i.stopping() || i.draining || i.leaving:
		return explain.Leaving
	case i.kind == facts.Primary && (protected || i.job.kept()):
		return explain.ProtectedPrimary
	case i.kind == facts.Primary:
		return explain.Primary
	case protected:
		return explain.ProtectedSecondary
	}
	return explain.Secondary
}

// needIfAsked is what an instance would need if that much memory were asked for.
func (ad *admission) needIfAsked(now time.Time, j *job, amount int64) int64 {
	less := *j
	less.needs.Memory, less.memoryNeed = amount, 0
	next, _ := j.Tally.NextPending()
	if need, _ := j.Memory.Learned(ad.policy.Memory, amount, facts.ItemNo(next)); need > amount {
		ad.refreshNeed(now, &less)
	}
	return max(amount, less.memoryNeed)
}

// noteDue remembers how many secondaries the plan gives each job that has fewer: they come as slots get free.
func (f *Farm) noteDue(p *planned, b planner.Plan) {
	clear(f.due)
	for n, jp := range b.Jobs {
		if jp.StartSecondary > 0 {
			f.due[p.jobs[n].ID] = jp.Secondary
		}
	}
}
