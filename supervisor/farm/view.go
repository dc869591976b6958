package farm

import (
	"time"

	"qb/agenda"
	"qb/smartshare"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
	"qb/supervisor/why/explain"
)

// Changed is what the view would show of the jobs and hosts that the replies name. It costs the same however large
// the farm is: why a job waits for hosts is left to the next view. With all the whole view may have changed.
func (f *Farm) Changed(now time.Time, replies []outbox.Reply) (part message.ViewDelta, all bool) {
	part = message.ViewDelta{Jobs: map[facts.JobID]*facts.JobView{}, Hosts: map[facts.HostID]*message.HostView{}}
	var avoiding map[facts.HostID][]*model.Job // read once, however many hosts are named
	for _, r := range replies {
		switch body := r.Body.(type) {
		case message.JobReply:
			f.addJob(now, &part, body.Job.ID)
		case message.ActionReply:
			f.addJob(now, &part, body.Job)
		case message.HostReply:
			if avoiding == nil {
				avoiding = model.ByAvoidedHost(f.retries.avoiding)
			}
			f.addHost(now, &part, body.Host, avoiding[body.Host])
			all = all || body.Host == "" // of the brake
		case message.PolicyReply:
			all = true
		}
	}
	return part, all
}

func (f *Farm) addJob(now time.Time, part *message.ViewDelta, id facts.JobID) {
	part.Jobs[id] = nil
	if j := f.jobs.ByID[id]; j != nil {
		v := f.jobView(now, j)
		part.Jobs[id] = &v
	}
}

func (f *Farm) addHost(now time.Time, part *message.ViewDelta, id facts.HostID, avoiding []*model.Job) {
	part.Hosts[id] = nil
	if h := f.hosts.ByID[id]; h != nil {
		v := h.View(now, f.policy, avoiding, nil)
		part.Hosts[id] = &v
	}
}

// jobView is a job without a look at the hosts.
func (f *Farm) jobView(now time.Time, j *model.Job) facts.JobView {
	v := j.View(now, &f.policy)
	e := f.explainedJob(now, j)
	why, found := explain.Own(&e, func(id facts.JobID) facts.JobState {
		if parent := f.jobs.ByID[id]; parent != nil {
			return parent.State
		}
		return ""
	})
	if !found {
		why = facts.Because(facts.ReasonNotYetKnown, facts.Params{}, "")
	}
	v.Wait(why)
	return v
}

// Explain says why a job's items wait.
func (f *Farm) Explain(now time.Time, id facts.JobID) (explain.Explanation, bool) {
	j := f.jobs.ByID[id]
	if j == nil {
		return explain.Explanation{}, false
	}
	return explain.New(f.explained(now)).Explain(id, f.usage.orderText(now, j))
}

// PlacingsOn says of each job with items that wait whether they may go to a host.
func (f *Farm) PlacingsOn(now time.Time, host facts.HostID) ([]explain.Placement, bool) {
	return explain.New(f.explained(now)).On(host)
}

// HostsFor are the hosts for a job's waiting items, the ones that it prefers first.
func (f *Farm) HostsFor(now time.Time, id facts.JobID) ([]explain.Placement, bool) {
	return explain.New(f.explained(now)).HostsFor(id)
}

// explained is the farm as explanations see it.
func (f *Farm) explained(now time.Time) *explain.Farm {
	e := explainedAll(now, f)
	for _, j := range f.jobs.Sorted() {
		e.Jobs = append(e.Jobs, f.explainedJob(now, j))
	}
	meant := f.planning.last.meantFor()
	for _, h := range f.hosts.Sorted() {
		instances, _ := instancesOn(h, nil, true)
		e.Hosts = append(e.Hosts, h.Explained(now, f.policy, instances))
		e.Hosts[len(e.Hosts)-1].MeantFor = meant[h]
	}
	return &e
}

// explainedAll is what explanations see of the farm besides its jobs and hosts.
func explainedAll(now time.Time, f *Farm) explain.Farm {
	e := explain.Farm{
		Now: now, Planning: f.planning.isDue(), PutOff: f.planning.following.cut, ReplanAt: f.replanAt,
		Policy: explain.Policy{Share: f.policy.Share, Fairshare: f.policy.Fairshare.Weights, Resources: f.policy.Resources,
			Licences: f.licences, Memory: f.policy.Memory.Default, Turn: f.policy.Share.Turn()},
		NeedIfAsked: func(id facts.JobID, bytes int64) int64 { return f.admission.needIfAsked(now, f.jobs.ByID[id], bytes) },
	}
	if r := f.admission.reserved; r != nil {
		e.Reserved = &explain.Reservation{Job: r.job.ID, Slots: r.job.Needs.Slots, Host: r.host.ID, At: model.TimeOf(r.at)}
	}
	return e
}

// instancesOn is what explanations see of the instances on a host, in the memory of what they saw before; of that only
// what has changed is made, unless all is to be made. Like says whether they see the same as before.
func instancesOn(h *model.Host, are []explain.Instance, all bool) (_ []explain.Instance, like bool) {
	like = len(are) == len(h.Listed())
	if !like {
		are = make([]explain.Instance, len(h.Listed()))
	}
	for n, i := range h.ToShow(all || !like) {
		is := explain.Instance{Job: i.Job.ID, Hold: i.Hold(), Slots: i.Taken(), Holds: i.Attempt.Holds}
		like = like && is.Like(are[n])
		are[n] = is
	}
	return are, like
}

// meantFor are by host the first jobs that, by the last plan, have an instance wait there for an end.
func (p *snapshot) meantFor() map[*model.Host]facts.JobID {
	meant := map[*model.Host]facts.JobID{}
	for _, s := range p.awaited {
		if h := p.hosts[s.Host]; meant[h] == 0 {
			meant[h] = p.jobs[s.Job].ID
		}
	}
	return meant
}

func (f *Farm) explainedJob(now time.Time, j *model.Job) explain.Job {
	e := explain.Job{
		Job:   *j.Asks(),
		Items: j.Entries.Len(), Pending: j.Pending(), Running: j.Tally.Count(agenda.Running),
		Done: j.Tally.Count(agenda.Complete), Blocked: j.Tally.Count(agenda.Blocked), Waiting: j.Waiting(),
		Failed: j.Tally.Count(agenda.Failed), Failure: j.FailedBy, Paused: j.Paused(),
		Held: j.Held(), Width: j.Width(&f.policy.Share), Due: f.planning.due[j.ID], MemoryUse: j.MemoryUse(),
		FromProfile: j.GoesBy(),
	}
	e.NextTry, e.Unlucky = j.NextTry(j.PauseAfter(facts.Why{}))
	e.Primary, e.Secondary, e.Draining = j.Counts()
	e.StaysOpen = j.State == facts.Active && j.Over() && j.StaysOpen()
	resuming := j.Resuming()
	e.Resuming = len(resuming)
	if len(resuming) > 0 && len(resuming) == len(j.Instances) {
		e.WaitsToGoOn = facts.WhyResuming(&resuming[0].Attempt)
	}
	if j.Delayed {
		e.StartsIn = max(1, j.StartsAt().Sub(now))
	}
	if j.Limit != nil {
		e.OverBudget = j.Limit.Why()
	}
	if full := j.Full(nil); full != nil {
		e.Limited = full.Why()
	}
	if r := f.admission.reserved; r != nil {
		e.MayUseReserved = f.admission.mayUse(now, j, r.host, j.NextKind())
	}
	factor := 1.0
	if last := f.planning.last; last.has(j) {
		factor = last.Jobs[j.Row].Fairshare
	}
	e.Ranked = j.Ranked(&f.policy, smartshare.FairshareBucket(factor))
	for _, o := range j.Orders {
		e.Orders = append(e.Orders, o.ActionFacts)
	}
	return e
}

// needIfAsked is what an instance would need if that much memory were asked for.
func (ad *admission) needIfAsked(now time.Time, j *model.Job, amount int64) int64 {
	less := *j
	less.Needs.Memory, less.MemoryNeed = amount, 0
	next, _ := j.Tally.NextPending()
	if need, _ := j.Memory.Learned(ad.policy.Memory, amount, facts.ItemNo(next)); need > amount {
		ad.refreshNeed(now, &less)
	}
	return max(amount, less.MemoryNeed)
}

// noteDue remembers how many secondaries the plan gives each job that has fewer: they come as slots get free.
func (pl *planning) noteDue(p *snapshot, b planner.Plan) {
	clear(pl.due)
	for n, jp := range b.Jobs {
		if jp.StartSecondary > 0 {
			pl.due[p.jobs[n].ID] = jp.Secondary
		}
	}
}
