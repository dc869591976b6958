package farm

import (
	"time"

	"qb/agenda"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
)

// View is the farm as listings show it. The caller may keep it: nothing in it changes later.
func (f *Farm) View(now time.Time) *message.View {
	v := &message.View{At: now, Counts: f.counts, Brake: f.brake.cause, Owners: f.jobs.quota.Uses(), Jobs: make([]facts.JobView, 0, len(f.jobs.byID)), Hosts: make([]message.HostView, 0, len(f.hosts.byID))}
	explained := f.explained(now)
	x := explain.New(explained)
	for n, j := range f.jobs.sorted() {
		job := j.view(now, &f.policy)
		job.Wait(x.Why(&explained.Jobs[n]))
		v.Jobs = append(v.Jobs, job)
	}
	for _, h := range f.hosts.sorted() {
		v.Hosts = append(v.Hosts, h.view(now, f.policy))
	}
	return v
}

// Changed is what the view would show of the jobs and hosts that the replies name. It costs the same however large
// the farm is: why a job waits for hosts is left to the next view. With all the whole view may have changed.
func (f *Farm) Changed(now time.Time, replies []outbox.Reply) (part message.Part, all bool) {
	for _, r := range replies {
		switch body := r.Body.(type) {
		case message.JobReply:
			f.addJob(now, &part, body.Job.ID)
		case message.ActionReply:
			f.addJob(now, &part, body.Job)
		case message.HostReply:
			f.addHost(now, &part, body.Host)
			all = all || body.Host == "" // of the brake
		case message.PolicyReply:
			all = true
		}
	}
	return part, all
}

func (f *Farm) addJob(now time.Time, part *message.Part, id facts.JobID) {
	if part.Jobs == nil {
		part.Jobs = map[facts.JobID]*facts.JobView{}
	}
	part.Jobs[id] = nil
	if j := f.jobs.byID[id]; j != nil {
		v := f.jobView(now, j)
		part.Jobs[id] = &v
	}
}

func (f *Farm) addHost(now time.Time, part *message.Part, id facts.HostID) {
	if part.Hosts == nil {
		part.Hosts = map[facts.HostID]*message.HostView{}
	}
	part.Hosts[id] = nil
	if h := f.hosts.byID[id]; h != nil {
		v := h.view(now, f.policy)
		part.Hosts[id] = &v
	}
}

// jobView is a job without a look at the hosts.
func (f *Farm) jobView(now time.Time, j *job) facts.JobView {
	v := j.view(now, &f.policy)
	e := f.explainedJob(now, j)
	why, found := explain.Own(&e, func(id facts.JobID) facts.JobState {
		if parent := f.jobs.byID[id]; parent != nil {
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

func (j *job) view(now time.Time, p *message.Policy) facts.JobView {
	v := facts.JobView{JobFacts: j.JobFacts, MaxCPUsEffective: j.width(&p.Share), StartedAt: j.FirstStart, MeanItemSeconds: j.MeanSeconds()}
	v.Primary, v.Secondary, v.Draining = j.counts()
	t := j.Tally
	v.Items = facts.ItemCounts{
		Total: t.Len(), Pending: t.Count(agenda.Pending), Running: t.Count(agenda.Running), Complete: t.Count(agenda.Complete),
		Failed: t.Count(agenda.Failed), Killed: t.Count(agenda.Killed), Blocked: t.Count(agenda.Blocked),
	}
	v.Status = j.status()
	if j.State == facts.Blocked {
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	}
	v.Memory = j.memoryUse()
	if j.timed() && !j.State.Final() {
		v.EstimatedItemSeconds = j.itemEstimate(now, p.CPUShare.Quantile)
	}
	v.Carried = j.carried
	for _, o := range j.orders {
		v.Orders = append(v.Orders, o.OrderFacts)
	}
	return v
}

// status is the job's state as everybody sees it.
func (j *job) status() string {
	switch {
	case j.State == facts.Active && j.Tally.Count(agenda.Running) > 0:
		return "running"
	case j.State == facts.Active:
		return "pending"
	}
	return string(j.State)
}

// memoryUse is what is known of the job's memory.
func (j *job) memoryUse() facts.JobMemory {
	return facts.JobMemory{Requested: j.needs.Memory, Need: j.memoryNeed, LargestPeak: j.Memory.Largest, Returned: j.Memory.Peaks.Count(), RanOut: len(j.Memory.Raised)}
}

func (h *host) view(now time.Time, p message.Policy) message.HostView {
	v := message.HostView{HostFacts: h.HostFacts, State: h.state(now, p), Used: h.used, Available: h.unused(), Swap: h.swap, Away: h.away, RunAs: h.RunAs, AgentUser: h.AgentUser, Instances: make([]message.InstanceView, 0, len(h.instances))}
	v.SeenAt, v.PerIdle = h.LastSync, h.announce()
	v.Code, v.Remark = h.remark(now, p)
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
		v.Instances = append(v.Instances, message.InstanceView{
			Job: i.job.ID, Number: i.number, Kind: i.kind, State: state, Attempt: i.attempt.AttemptID,
			ItemName: i.job.Entries.Item(int(i.attempt.Item)).Name, Started: i.began, ItemStarted: i.attempt.StartedAt,
			Slots: i.slots, Memory: i.attempt.Memory, Holds: i.attempt.Holds, Devices: i.devices,
		})
	}
	return v
}
