package farm

import (
	"time"

	"qb/agenda"
)

// View is the farm as listings show it. The caller may keep it: nothing in it changes later.
func (f *Farm) View(now time.Time) *View {
	v := &View{At: now, Counts: f.counts, Brake: f.brake.cause, Jobs: make([]JobView, 0, len(f.jobs)), Hosts: make([]HostView, 0, len(f.hosts))}
	sight := newSight(false)
	for _, j := range f.sortedJobs() {
		v.Jobs = append(v.Jobs, f.jobViewWith(now, j, sight))
	}
	for _, h := range f.sortedHosts() {
		v.Hosts = append(v.Hosts, f.hostView(now, h))
	}
	return v
}

func (f *Farm) jobView(now time.Time, j *job) JobView {
	return f.jobViewWith(now, j, f.sightOfArrivals(now))
}

// sightOfArrivals is shared by submissions that come one after another: they move nothing on the hosts. It is
// looked up again after a while, as hosts fall silent without an event.
func (f *Farm) sightOfArrivals(now time.Time) *sight {
	if age := now.Sub(f.glanceAt); f.glance == nil || age < 0 || age >= time.Second {
		f.glance, f.glanceAt = newSight(true), now
	}
	return f.glance
}

func (f *Farm) jobViewWith(now time.Time, j *job, sight *sight) JobView {
	v := JobView{JobFacts: j.JobFacts, MaxCPUsEffective: f.width(j), StartedAt: j.startedAt, MeanItemSeconds: j.meanItem()}
	v.Primary, v.Secondary, v.Draining = j.counts()
	t := j.tally
	v.Items = ItemCounts{
		Total: t.Len(), Pending: t.Count(agenda.Pending), Running: t.Count(agenda.Running), Complete: t.Count(agenda.Complete),
		Failed: t.Count(agenda.Failed), Killed: t.Count(agenda.Killed), Blocked: t.Count(agenda.Blocked),
	}
	v.Status = string(j.State)
	switch {
	case j.State == Active && v.Items.Running > 0:
		v.Status = "running"
	case j.State == Active:
		v.Status = "pending"
	case j.State == Blocked:
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	}
	v.Memory = JobMemory{j.needs.memory, j.book.need, j.book.largest, j.book.peaks.Count(), len(j.book.raised)}
	if j.share.times.Count() > 0 && !j.State.Final() {
		v.EstimatedItemSeconds = f.itemEstimate(now, j)
	}
	v.Carried = j.carried
	for _, o := range j.orders {
		v.Orders = append(v.Orders, o.OrderFacts)
	}
	v.Reason = f.reason(now, j, sight)
	return v
}

func (f *Farm) hostView(now time.Time, h *host) HostView {
	v := HostView{HostFacts: h.HostFacts, State: h.state(now, f.policy), Used: h.used, Available: h.unused(), RunAs: h.runAs, AgentUser: h.agentUser, Instances: []InstanceView{}}
	v.SeenAt, v.PerIdle, v.Remark = h.lastSync, h.announce(), h.remark(now, f.policy)
	v.Claims = f.claimViews(h)
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
			ItemName: i.job.agenda.Item(int(i.attempt.Item)).Name, Started: i.began, ItemStarted: i.attempt.StartedAt,
			Slots: i.slots, Memory: i.attempt.Memory, Holds: i.attempt.Holds, Devices: i.devices,
		})
	}
	return v
}
