package farm

import (
	"time"

	"qb/agenda"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/outbox"
)

// View is the farm as listings show it. The caller may keep it: nothing in it changes later.
func (f *Farm) View(now time.Time) *View {
	v := &View{At: now, Counts: f.counts, Brake: f.brake.cause, Owners: f.quota.Uses(), Jobs: make([]facts.JobView, 0, len(f.jobs)), Hosts: make([]HostView, 0, len(f.hosts))}
	explained := f.explained(now)
	x := explain.New(explained)
	for n, j := range f.sortedJobs() {
		job := f.jobFacts(now, j)
		job.Wait(x.Why(&explained.Jobs[n]))
		v.Jobs = append(v.Jobs, job)
	}
	for _, h := range f.sortedHosts() {
		v.Hosts = append(v.Hosts, f.hostView(now, h))
	}
	return v
}

// Changed is what the view would show of the jobs and hosts that the replies name. It costs the same however large
// the farm is: why a job waits for hosts is left to the next view. With all the whole view may have changed.
func (f *Farm) Changed(now time.Time, replies []outbox.Reply) (part Part, all bool) {
	for _, r := range replies {
		switch body := r.Body.(type) {
		case JobReply:
			f.addJob(now, &part, body.Job.ID)
		case ActionReply:
			f.addJob(now, &part, body.Job)
		case HostReply:
			f.addHost(now, &part, body.Host)
			all = all || body.Host == "" // of the brake
		case PolicyReply:
			all = true
		}
	}
	return part, all
}

func (f *Farm) addJob(now time.Time, part *Part, id facts.JobID) {
	if part.Jobs == nil {
		part.Jobs = map[facts.JobID]*facts.JobView{}
	}
	part.Jobs[id] = nil
	if j := f.jobs[id]; j != nil {
		v := f.jobView(now, j)
		part.Jobs[id] = &v
	}
}

func (f *Farm) addHost(now time.Time, part *Part, id facts.HostID) {
	if part.Hosts == nil {
		part.Hosts = map[facts.HostID]*HostView{}
	}
	part.Hosts[id] = nil
	if h := f.hosts[id]; h != nil {
		v := f.hostView(now, h)
		part.Hosts[id] = &v
	}
}

// jobView is a job without a look at the hosts.
func (f *Farm) jobView(now time.Time, j *job) facts.JobView {
	v := f.jobFacts(now, j)
	e := f.explainedJob(now, j)
	why, found := explain.Own(&e, func(id facts.JobID) facts.JobState {
		if parent := f.jobs[id]; parent != nil {
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

func (f *Farm) jobFacts(now time.Time, j *job) facts.JobView {
	v := facts.JobView{JobFacts: j.JobFacts, MaxCPUsEffective: f.width(j), StartedAt: j.FirstStart, MeanItemSeconds: j.MeanSeconds()}
	v.Primary, v.Secondary, v.Draining = j.counts()
	t := j.Tally
	v.Items = facts.ItemCounts{
		Total: t.Len(), Pending: t.Count(agenda.Pending), Running: t.Count(agenda.Running), Complete: t.Count(agenda.Complete),
		Failed: t.Count(agenda.Failed), Killed: t.Count(agenda.Killed), Blocked: t.Count(agenda.Blocked),
	}
	v.Status = string(j.State)
	switch {
	case j.State == facts.Active && v.Items.Running > 0:
		v.Status = "running"
	case j.State == facts.Active:
		v.Status = "pending"
	case j.State == facts.Blocked:
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	}
	v.Memory = j.memoryUse()
	if j.Times.Count() > 0 && !j.State.Final() {
		v.EstimatedItemSeconds = f.itemEstimate(now, j)
	}
	v.Carried = j.carried
	for _, o := range j.orders {
		v.Orders = append(v.Orders, o.OrderFacts)
	}
	return v
}

// memoryUse is what is known of the job's memory.
func (j *job) memoryUse() facts.JobMemory {
	return facts.JobMemory{Requested: j.needs.Memory, Need: j.memoryNeed, LargestPeak: j.Memory.Largest, Returned: j.Memory.Peaks.Count(), RanOut: len(j.Memory.Raised)}
}

func (f *Farm) hostView(now time.Time, h *host) HostView {
	v := HostView{HostFacts: h.HostFacts, State: h.state(now, f.policy), Used: h.used, Available: h.unused(), RunAs: h.RunAs, AgentUser: h.AgentUser, Instances: make([]InstanceView, 0, len(h.instances))}
	v.SeenAt, v.PerIdle = h.LastSync, h.announce()
	v.Code, v.Remark = h.remark(now, f.policy)
	v.Claims = h.Claims(h.HostFacts)
	for _, i := range h.sortedInstances() {
		state := "active"
		switch {
		case i.stopping():
			state = "stopping"
		case i.draining || i.leaving:
			state = "draining"
		}
		v.Promised += i.attempt.Memory
		v.Instances = append(v.Instances, InstanceView{
			Job: i.job.ID, Number: i.number, Kind: i.kind, State: state, Attempt: i.attempt.AttemptID,
			ItemName: i.job.Entries.Item(int(i.attempt.Item)).Name, Started: i.began, ItemStarted: i.attempt.StartedAt,
			Slots: i.slots, Memory: i.attempt.Memory, Holds: i.attempt.Holds, Devices: i.devices,
		})
	}
	return v
}
