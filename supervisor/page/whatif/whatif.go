package whatif

import (
	"slices"
	"strconv"

	"qb/api"
	"qb/smartshare"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// listed is how many jobs, and how many stops, an answer names; the sums are of all.
const listed = 1000

// Change is what is tried.
type Change struct {
	Job      *facts.JobFacts // the job as it would be; nil: none is changed
	Operator bool            // an operator or admin makes it
	Lock     []string        // hosts that would be locked
}

// apply makes the change in the snapshot, whose lists of jobs and hosts it may write to.
func (c Change) apply(s planner.Snapshot) error {
	if c.Job != nil {
		if err := c.applyJob(s); err != nil {
			return err
		}
	}
	for _, name := range c.Lock {
		at := slices.IndexFunc(s.Hosts, func(h planner.SnapHost) bool { return h.Name == name })
		if at < 0 {
			return &api.Error{Kind: api.KindNotFound, Member: "lock", Text: "there is no host " + strconv.Quote(name)}
		}
		s.Hosts[at].Up = false
	}
	return nil
}

func (c Change) applyJob(s planner.Snapshot) error {
	at := slices.IndexFunc(s.Jobs, func(j planner.SnapJob) bool { return j.Num == int64(c.Job.ID) })
	if at < 0 {
		return api.Errorf(api.KindConflict,
			"job %d is blocked, suspended or has no items left: the change would move nothing now", c.Job.ID)
	}
	row := &s.Jobs[at]
	if s.Policy.ByPoints() && (row.Priority != c.Job.Priority || row.CPUs != c.Job.CPUs) {
		return api.Errorf(api.KindConflict,
			"jobs are ordered by points (supervisor_dispatch_order), which priority and cpus are a part of: only max_cpus and cluster can be tried")
	}
	row.Global = s.Policy.GlobalAfter(row.Global,
		planner.Leaves{Cluster: row.Cluster != c.Job.Cluster, Priority: row.Priority != c.Job.Standing(),
			Operator: row.Operator != c.Job.OperatorPriority, ByOperator: c.Operator})
	row.Priority = c.Job.Standing()
	row.Operator = c.Job.OperatorPriority
	row.Cluster = c.Job.Cluster
	if row.CPUs == 0 { // over a budget: it has what others leave
		row.MaxCPUs = new(s.Policy.Width(c.Job.CPUs, c.Job.MaxCPUs, row.Agenda))
		return nil
	}
	row.CPUs, row.MaxCPUs = c.Job.CPUs, c.Job.MaxCPUs
	return nil
}

// compare tries the change.
func compare(scratch *smartshare.Scratch, s planner.Snapshot, c Change) (api.WhatIfReply, error) {
	before := planner.Decide(scratch, s)
	changed := s
	changed.Jobs, changed.Hosts = slices.Clone(s.Jobs), slices.Clone(s.Hosts)
	if err := c.apply(changed); err != nil {
		return api.WhatIfReply{}, err
	}
	return difference(changed, before, planner.Decide(scratch, changed)), nil
}

// difference is what the plan after does otherwise than the one before. The last job of the snapshot may be new to the
// farm.
func difference(s planner.Snapshot, before, after planner.Plan) api.WhatIfReply {
	reply := api.WhatIfReply{
		Jobs: []api.WhatIfJob{}, Stops: []api.WhatIfStop{}, Passive: s.Policy.Preempt == "passive",
		FreeBefore: before.Free, FreeAfter: after.Free, LostBefore: before.LostWork, LostAfter: after.LostWork,
	}
	addJobs(&reply, s, before, after)
	addStops(&reply, s, before, after)
	return reply
}

// addJobs lists the jobs that have another number of instances then, in the order in which they are served then.
func addJobs(reply *api.WhatIfReply, s planner.Snapshot, before, after planner.Plan) {
	running := make([]planner.JobCounts, len(s.Jobs))
	for i := range s.Running {
		r := &s.Running[i]
		if r.Kind == facts.Primary {
			running[r.Job].Primary++
		} else {
			running[r.Job].Secondary++
		}
	}
	countsBefore, countsAfter := before.Counts(s.Running), after.Counts(s.Running)
	for _, j := range after.Order {
		var b planner.JobCounts
		id := int64(0)
		if j < len(before.Jobs) {
			b = countsBefore[j]
			id = s.Jobs[j].Num
		}
		a := countsAfter[j]
		if a == b {
			continue
		}
		if reply.Moved++; len(reply.Jobs) < listed {
			reply.Jobs = append(reply.Jobs,
				api.WhatIfJob{Job: id, Running: api.WhatIfCounts(running[j]), Before: api.WhatIfCounts(b),
					After: api.WhatIfCounts(a)})
		}
	}
}

// addStops lists what stops then and would not without the change, cheapest first.
func addStops(reply *api.WhatIfReply, s planner.Snapshot, before, after planner.Plan) {
	anyway := make(map[int]bool, len(before.Stop))
	for _, i := range before.Going() {
		anyway[i] = true
	}
	for _, i := range after.Going() {
		if anyway[i] {
			delete(anyway, i)
			continue
		}
		if reply.Stopped++; len(reply.Stops) < listed {
			r := &s.Running[i]
			stop := api.WhatIfStop{Job: s.Jobs[r.Job].Num, Instance: r.ID, Host: s.Hosts[r.Host].Name}
			if r.HasItem {
				stop.Seconds = max(0, s.Now-r.ItemStarted)
			}
			reply.Stops = append(reply.Stops, stop)
		}
	}
	reply.Spared = len(anyway)
}
