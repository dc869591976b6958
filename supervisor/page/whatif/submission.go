package whatif

import (
	"context"
	"math"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// Submission is how the trial of a submission sees the live farm.
type Submission struct {
	// Look takes a snapshot. The last jobs in it are the jobs of the submission that can be planned.
	Look    func(to *planner.Snapshot) (message.TrialReply, error)
	Explain func() (facts.Why, error)
	View    *message.View // may be nil
}

// TrySubmission answers what a submission would change, when the trials before it have been.
func (t *Trials) TrySubmission(ctx context.Context, f Submission) (api.TrialReply, error) {
	end, err := t.takeTurn(ctx)
	if err != nil {
		return api.TrialReply{}, err
	}
	defer end()
	var s planner.Snapshot
	supposed, err := f.Look(&s)
	if err != nil {
		return api.TrialReply{}, err
	}
	without := s
	without.Jobs = s.Jobs[:len(s.Jobs)-supposed.Planned]
	before := planner.Decide(&t.scratch, without)
	after := before
	if supposed.Planned > 0 {
		s.Jobs = slices.Clone(s.Jobs)
		for n, vtime := range supposed.VTimes {
			s.Jobs[n].VTime = vtime
		}
		after = planner.Decide(&t.scratch, s)
	}
	reply := api.TrialReply{WhatIfReply: difference(s, before, after),
		Submission: api.WhatIfSubmission{Items: supposed.Items, Remarks: append([]string{}, supposed.Remarks...)}}
	reply.At = time.UnixMilli(int64(s.Now * 1000)).UTC()
	sub := &reply.Submission
	if supposed.Planned > 0 {
		sub.Now, sub.Stopped = starts(after, len(without.Jobs))
		sub.Earliest = earliest(s, after, len(without.Jobs), means(f.View))
	}
	switch {
	case sub.Now > 0:
		sub.Start, sub.Earliest = "now", new(0.0)
	case sub.Stopped > 0:
		sub.Start = "after-stops"
	default:
		sub.Start = "later"
		why, err := f.Explain()
		if err != nil {
			return api.TrialReply{}, err
		}
		sub.Code, sub.Reason = string(why.Reason), why.Cause
	}
	nameItems(reply.Stops, f.View)
	return reply, nil
}

// starts counts the planned starts of the jobs from index from on: on slots that are free now, and on slots that other
// instances leave.
func starts(p planner.Plan, from int) (now, afterStops int) {
	for _, start := range p.Starts {
		switch {
		case start.Job < from:
		case start.When == planner.Now:
			now++
		default:
			afterStops++
		}
	}
	for _, y := range p.Preempted {
		if _, wide := p.Yielded[y.For]; y.For >= from && !wide {
			afterStops++
		}
	}
	for n := range p.Yielded {
		if n >= from {
			afterStops++
		}
	}
	return now, afterStops
}

// means are the seconds that an item of each job is taken to run.
func means(v *message.View) map[int64]float64 {
	seconds := map[int64]float64{}
	for n := 0; v != nil && n < len(v.Jobs); n++ {
		j := v.Jobs[n]
		if seconds[int64(j.ID)] = j.MeanItemSeconds; j.MeanItemSeconds == 0 {
			seconds[int64(j.ID)] = j.EstimatedItemSeconds
		}
	}
	return seconds
}

// earliest is how long it takes at least until one of the jobs from one on can start: until the first end of what stops
// for others or, where nothing does, of an item on a host that serves the job. nil: not known.
func earliest(s planner.Snapshot, p planner.Plan, from int, means map[int64]float64) *float64 {
	going := p.Going()
	if slices.ContainsFunc(p.Stops, func(s planner.PlannedStop) bool { return s.Drain == planner.Stopped }) ||
		slices.ContainsFunc(p.Preempted, func(y planner.PlannedPreemption) bool { return !y.Drain }) {
		return new(0.0)
	}
	least := math.Inf(1)
	look := func(r *planner.SnapInstance) {
		mean := means[s.Jobs[r.Job].Num]
		serves := slices.ContainsFunc(s.Jobs[from:], func(j planner.SnapJob) bool {
			return j.Eligible == nil || slices.Contains(j.Eligible, r.Host)
		})
		if serves && mean > 0 && r.HasItem {
			least = min(least, max(0, mean-(s.Now-r.ItemStarted)))
		}
	}
	for _, i := range going {
		look(&s.Running[i])
	}
	for i := 0; len(going) == 0 && i < len(s.Running); i++ {
		look(&s.Running[i])
	}
	if math.IsInf(least, 1) {
		return nil
	}
	return &least
}
