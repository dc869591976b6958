package model

import (
	"cmp"
	"fmt"
	"slices"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// Conditions are what a new job waits for, or why it is refused. A condition that can no longer come true by itself is
// kept, as its job may be retried.
func (js *Jobs) Conditions(e message.JobSubmitted, group facts.JobID) (open []facts.Link, refusal string) {
	if e.Facts.Dependency == "" {
		return nil, ""
	}
	links, err := facts.ParseDependency(e.Facts.Dependency)
	if err != nil {
		return nil, err.Error()
	}
	for _, l := range links {
		if l.Label != "" && l.Label == e.Facts.Label {
			return nil, fmt.Sprintf("the job would wait for itself: its label is %s", l.Label)
		}
		if l.Label != "" {
			l.Job = cmp.Or(js.Labelled(group, l.Label), e.Labels[l.Label])
		}
		if l.Job == 0 {
			if len(js.Awaiting(group, l.Label)) >= maxAwaiting {
				return nil, fmt.Sprintf("%d jobs of process group %d wait for label %s, the limit; submit the job with that label", maxAwaiting, group, l.Label)
			}
		} else {
			met := false
			if l, met, refusal = js.condition(e, l); refusal != "" {
				return nil, refusal
			}
			if met {
				continue
			}
		}
		if !slices.Contains(open, l) {
			open = append(open, l)
		}
	}
	return open, ""
}

// condition looks at a link to a job that is there.
func (js *Jobs) condition(e message.JobSubmitted, l facts.Link) (_ facts.Link, met bool, refusal string) {
	state, known := e.Links[l.Job]
	parent := js.ByID[l.Job]
	if parent != nil {
		state, known = parent.State, true
	}
	if l.Job >= js.Next || !known {
		return l, false, fmt.Sprintf("dependency on job %d: there is no such job", l.Job)
	}
	if l.Satisfied(state) {
		return l, true, ""
	}
	if l.Of == facts.OfJob {
		return l, false, ""
	}
	if parent == nil {
		return l, false, fmt.Sprintf("the items of job %d, which is %s, are not in memory; repeat the request", l.Job, state)
	}
	if l.Of == facts.OfInstances && l.Items != "" && parent.HasAgenda() {
		return l, false, fmt.Sprintf("the instances of job %d share its items and end when these are done; name items, as link-%s-work-%d:NAME, or the job", l.Job, l.End, l.Job)
	}
	l = settled(l, e.Facts.Agenda.Range != "", parent.HasAgenda())
	if l.Items != "" {
		if _, err := parent.Entries.Select(l.Items); err != nil {
			return l, false, fmt.Sprintf("dependency on items of job %d: %v", l.Job, err)
		}
	}
	return l, false, ""
}

// settled is a link to a known job. A job without a range runs its command once for each instance, so that its instances are
// its items; the instances of any other end when the job does.
func settled(l facts.Link, child, parent bool) facts.Link {
	if l.Of != facts.OfInstances {
		return l
	}
	l.Of = facts.OfItems
	if l.Items == "" && (child || parent) {
		l.Of = facts.OfJob
	}
	return l
}

// Whole makes of conditions item by item on jobs that have no item in common with this one conditions on the whole jobs. Conditions
// that have come true are left out: nothing would tell of that any more.
func (js *Jobs) Whole(j *Job, links []facts.Link) (open []facts.Link) {
	for _, l := range links {
		if parent := js.ByID[l.Job]; parent != nil {
			if l.Each() && !j.Entries.Meets(parent.Entries) {
				l.Of = facts.OfJob
			}
			if l.Satisfied(parent.State) || l.Of == facts.OfItems && parent.haveEnded(l, j) {
				continue
			}
		}
		if !slices.Contains(open, l) {
			open = append(open, l)
		}
	}
	return open
}

// haveEnded says whether all items that a link of the child is on have ended as it wants; item by item it holds only when the job
// has ended, too.
func (j *Job) haveEnded(l facts.Link, child *Job) bool {
	if l.Items == "" && !j.State.Final() {
		return false
	}
	if l.Items != "" {
		picked, err := j.Entries.Select(l.Items)
		return err == nil && !slices.ContainsFunc(picked, func(n int) bool { return !l.MetBy(j.Tally.State(n)) })
	}
	for n := range j.Entries.Len() {
		if shared := false; !l.MetBy(j.Tally.State(n)) {
			if j.Entries.Shared(n, child.Entries, func(int) { shared = true }); shared {
				return false
			}
		}
	}
	return true
}

// Met says whether a condition of the job has come true. The state is that of the job that it is on.
func (j *Job) Met(l facts.Link, state facts.JobState) bool {
	if l.Satisfied(state) {
		return true
	}
	g := j.gate(l)
	return g != nil && g.unmet == 0 && (g.only != nil || state.Final())
}

// StillWaits are the conditions of the job that have not come true; what became of jobs that are not in memory, states
// tells.
func (js *Jobs) StillWaits(j *Job, states map[facts.JobID]facts.JobState) []facts.Link {
	return slices.DeleteFunc(slices.Clone(j.WaitFor), func(l facts.Link) bool {
		state := states[l.Job]
		if parent := js.ByID[l.Job]; parent != nil {
			state = parent.State
		}
		return j.Met(l, state)
	})
}

// Holds says whether a condition keeps the whole job from running.
func (j *Job) Holds() bool {
	return slices.ContainsFunc(j.WaitFor, func(l facts.Link) bool { return !l.Each() || j.gate(l) == nil })
}

// WaitOn notes which jobs and labels the job waits for.
func (js *Jobs) WaitOn(j *Job) {
	for _, l := range j.WaitFor {
		switch {
		case l.Job == 0:
			js.await(j, l.Label)
		case !slices.Contains(js.Children[l.Job], j.ID):
			js.Children[l.Job] = append(js.Children[l.Job], j.ID)
		}
	}
}
