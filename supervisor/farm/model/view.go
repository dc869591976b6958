package model

import (
	"cmp"
	"strings"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/why/explain"
)

func (j *Job) View(now time.Time, p *message.Policy) facts.JobView {
	v := facts.JobView{JobFacts: j.JobFacts, MaxCPUsEffective: j.Width(&p.Share), StartedAt: j.FirstStart,
		MeanItemSeconds: j.MeanSeconds()}
	v.Primary, v.Secondary, v.Draining = j.Counts()
	t := j.Tally
	v.Items = facts.ItemCounts{
		Total: t.Len(), Pending: t.Count(agenda.Pending) +
			t.Count(agenda.Paused), Running: t.Count(agenda.Running), Complete: t.Count(agenda.Complete),
		Failed: t.Count(agenda.Failed), Killed: t.Count(agenda.Killed), Blocked: t.Count(agenda.Blocked) +
			t.Count(agenda.Waiting),
	}
	v.FailedAttempts = j.FailCount
	if v.Status = j.Status(); j.numbers.progressed != 0 {
		v.Progress = (100*t.Count(agenda.Complete) + j.numbers.progressed) / t.Len()
	}
	if j.State == facts.Blocked {
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	}
	v.Memory, v.Learned = j.MemoryUse(), j.GoesBy()
	v.EstimatedItemSeconds = j.ShownEstimate(now, p)
	v.Carried = j.Carried
	for _, o := range j.Orders {
		v.Orders = append(v.Orders, o.ActionFacts)
	}
	return v
}

// ShownEstimate is how long the next item is taken to run; 0: nothing is known, or none is to come.
func (j *Job) ShownEstimate(now time.Time, p *message.Policy) float64 {
	if !j.Timed() || j.State.Final() {
		return 0
	}
	return j.itemEstimate(now, p.CPUShare.Quantile)
}

// Status is the job's state as everybody sees it.
func (j *Job) Status() string {
	switch {
	case j.State == facts.Active && j.Tally.Count(agenda.Running) > 0:
		return "running"
	case j.State == facts.Active:
		return "pending"
	}
	return string(j.State)
}

// MemoryUse is what is known of the job's memory.
func (j *Job) MemoryUse() facts.JobMemory {
	return facts.JobMemory{Requested: j.Needs.Memory, Need: j.MemoryNeed, LargestPeak: j.Memory.Largest,
		Returned: j.Memory.Peaks.Count(), RanOut: len(j.Memory.Raised)}
}

// View is the host as listings show it; jobs are the ones that avoid it. Of what it runs only that is made which has
// changed since it was shown so; nil: all is.
func (h *Host) View(now time.Time, p message.Policy, jobs []*Job, before *message.HostView) message.HostView {
	v := message.HostView{HostFacts: h.HostFacts, Incarnation: h.Incarnation, State: h.State(now, p), Used: h.Used,
		Available: h.unused(), Swap: h.swap, Away: h.Withheld(), RunAs: h.RunAs, AgentUser: h.AgentUser}
	v.SeenAt, v.PerIdle = h.LastSync, h.Announce()
	v.Code, v.Remark = h.remark(now, p)
	v.Avoided = h.Avoidances(now)
	for _, j := range jobs {
		if a, found := h.AvoidedBy(now, j.ID, j.Avoids); found {
			v.Avoided = append(v.Avoided, a)
		}
	}
	if len(v.Avoided) > 0 {
		v.Code = cmp.Or(v.Code, v.Avoided[0].Code)
		v.Remark = strings.TrimPrefix(v.Remark+"; "+fit.AvoidedText(v.Avoided), "; ")
	}
	v.Claims = h.Claims(h.HostFacts)
	v.Instances = make([]message.InstanceView, len(h.Listed()))
	if before != nil {
		copy(v.Instances, before.Instances)
	}
	for n, i := range h.ToShow(before == nil) {
		v.Instances[n] = viewOf(i)
	}
	for n := range v.Instances {
		v.Promised += v.Instances[n].Memory
	}
	return v
}

// stateOf is an instance's state as listings show it.
func stateOf(i *Instance) string {
	switch {
	case i.AwaitsItem():
		return "loaded"
	case i.Loaded():
		return "unloading"
	case i.Stopping():
		return "stopping"
	case i.Resuming():
		return "resuming"
	case i.Suspended():
		return "suspended"
	case i.Draining || i.SentAway:
		return "draining"
	}
	return "active"
}

// viewOf is an instance as listings show it.
func viewOf(i *Instance) message.InstanceView {
	v := message.InstanceView{
		Job: i.Job.ID, Number: i.Number, Kind: i.Kind, State: stateOf(i), Attempt: i.Attempt.AttemptID,
		ItemName: i.Job.Entries.Item(int(i.Attempt.Item)).Name, Started: i.Began, ItemStarted: i.Attempt.StartedAt,
		Progress:    i.Progress,
		SuspendedAt: i.Attempt.SuspendedAt, Suspended: i.Attempt.Suspended,
		Slots: i.Taken(), Memory: i.Attempt.Memory, Holds: i.Attempt.Holds, Devices: i.Devices,
	}
	if i.Next != nil {
		v.Next = i.Job.Entries.Item(int(i.Next.Attempt.Item)).Name
	}
	return v
}

// ShownUntil is until when a host is shown and explained as now, if nothing happens to it or to the jobs that avoid
// it; zero: for ever.
func ShownUntil(now time.Time, p *message.Policy, h *Host) (until time.Time) {
	if h.Removing() || h.OneWay(now, p.Liveness) || h.Claimed() || len(h.Refuses) > 0 || h.Lacks.Any() {
		return now // it says for how long
	}
	earliest := func(t time.Time) {
		if t.After(now) && (until.IsZero() || t.Before(until)) {
			until = t
		}
	}
	earliest(h.SilentAt(p.Liveness))
	earliest(h.SilentAt(max(p.LeaseInFull(), p.Promised.InFull())))
	earliest(h.FullUntil)
	return until
}

func (h *Host) Explained(now time.Time, p message.Policy, instances []explain.Instance) explain.Host {
	e := explain.Host{Host: &h.Host, Load: Load{h, nil}, State: h.State(now, p), Refusing: h.Refusing, Free: h.Free(),
		Used: h.Used, Away: h.Withheld(), Kept: max(0, min(h.Wanted, h.Offered()-h.Used)), Instances: instances}
	if h.Limited() {
		e.Limited = true
		e.Full = now.Before(h.FullUntil)
		e.Ledger = h.Ledger(nil)
		e.PerIdle = h.Announce()
	}
	return e
}

// Hold is how the instance holds its slots.
func (i *Instance) Hold() explain.Hold {
	protected := i.Stays()
	switch {
	case i.Ending() || i.Draining:
		return explain.Ending
	case i.Kind == facts.Primary && (protected || i.Job.Kept()):
		return explain.ProtectedPrimary
	case i.Kind == facts.Primary:
		return explain.Primary
	case protected:
		return explain.ProtectedSecondary
	}
	return explain.Secondary
}
