package model

import (
	"cmp"
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Conditions are what a new job waits for, or why it is refused: of each link those on the jobs of the submission that
// it names. A condition that can no longer come true by itself is kept, as its job may be retried.
func (js *Jobs) Conditions(e message.JobSubmitted, group facts.JobID) (open [][]facts.Link, refusal string) {
	if e.Facts.Dependency == "" {
		return nil, ""
	}
	links, err := facts.ParseDependency(e.Facts.Dependency)
	if err != nil {
		return nil, err.Error()
	}
	all := 0
	for _, l := range links {
		if l.Label != "" && l.Label == e.Facts.Label {
			return nil, fmt.Sprintf("the job would wait for itself: its label is %s", l.Label)
		}
		if l.Label != "" {
			l.Job = cmp.Or(js.Labelled(group, l.Label), e.Labels[l.Label])
		}
		spread := []facts.Link{l}
		if l.Job == 0 {
			if len(js.Awaiting(group, l.Label)) >= maxAwaiting {
				return nil, fmt.Sprintf("%d jobs of process group %d wait for label %s, the limit; submit the job with that label",
					maxAwaiting, group, l.Label)
			}
		} else if spread, refusal = js.condition(e, l); refusal != "" {
			return nil, refusal
		}
		if all += len(spread); all > facts.MaxLinks {
			return nil, fmt.Sprintf("more than %d conditions, as submissions that became several jobs are waited for with all of them; name fewer", facts.MaxLinks)
		}
		if len(spread) > 0 {
			open = append(open, spread)
		}
	}
	return open, ""
}

// condition is a link to a job that is there: what is open of it, on each of the jobs of its submission.
func (js *Jobs) condition(e message.JobSubmitted, l facts.Link) (links []facts.Link, refusal string) {
	states := map[facts.JobID]facts.JobState{}
	jobs := slices.DeleteFunc(js.Together(l.Job, e.Before), func(id facts.JobID) bool {
		state, known := e.Links[id]
		if parent := js.ByID[id]; parent != nil {
			state, known = parent.State, true
		}
		states[id] = state
		return !known
	})
	if l.Job >= js.Next || !slices.Contains(jobs, l.Job) {
		return nil, fmt.Sprintf("dependency on job %d: there is no such job", l.Job)
	}
	if !slices.ContainsFunc(jobs, func(id facts.JobID) bool { return !l.Satisfied(states[id]) }) {
		return nil, ""
	}
	if l.Of == facts.OfJob {
		links = slices.DeleteFunc(l.Spread(jobs), func(one facts.Link) bool {
			return one.Among == 0 &&
				one.Satisfied(states[one.Job])
		})
		return facts.ResolveLinks(links, func(id facts.JobID) facts.JobState { return states[id] }), ""
	}
	for _, id := range jobs {
		parent := js.ByID[id]
		if parent == nil {
			return nil, fmt.Sprintf("the items of job %d, which is %s, are not in memory; repeat the request", id, states[id])
		}
		if l.Of == facts.OfInstances && l.Items != "" && parent.HasAgenda() {
			return nil, fmt.Sprintf("the instances of job %d share its items and end when these are done; name items, as link-%s-work-%d:NAME, or the job", l.Job, l.End, l.Job)
		}
	}
	links, err := js.onItems(l, jobs, e.Facts.Agenda.Range != "")
	if err != nil {
		return nil, fmt.Sprintf("dependency on items of job %d: %v", l.Job, err)
	}
	return links, ""
}

// Together are the jobs of the submission whose last job is named, that one last. Before has those of jobs that may no
// longer be in memory.
func (js *Jobs) Together(last facts.JobID, before map[facts.JobID][]facts.JobID) []facts.JobID {
	others := before[last]
	if j := js.ByID[last]; j != nil {
		others = j.Before()
	}
	return append(slices.Clone(others), last)
}

// onItems is a link on items, on each of the jobs of a submission that have some of them.
func (js *Jobs) onItems(l facts.Link, jobs []facts.JobID, child bool) (links []facts.Link, err error) {
	agendas := make([]*agenda.Agenda, len(jobs))
	for n, id := range jobs {
		agendas[n] = js.ByID[id].Entries
	}
	l = resolvedLink(l, child, js.ByID[l.Job].HasAgenda())
	if l.Items == "" {
		return l.Spread(jobs), nil
	}
	chosen, err := agenda.SelectAmong(l.Items, agendas)
	if err != nil {
		return nil, err
	}
	for n, one := range l.Spread(jobs) {
		if len(chosen[n]) == 0 {
			continue
		}
		if len(jobs) > 1 {
			one.Items = agendas[n].Text(agenda.SpansOf(chosen[n]))
		}
		links = append(links, one)
	}
	return links, nil
}

// appeared is a link on a job that has a label now, on each of the jobs of its submission.
func (js *Jobs) appeared(l facts.Link, child *Job, before map[facts.JobID][]facts.JobID) []facts.Link {
	jobs := js.Together(l.Job, before)
	if l.Of == facts.OfJob {
		return l.Spread(jobs)
	}
	known := slices.DeleteFunc(jobs, func(id facts.JobID) bool { return js.ByID[id] == nil })
	if !slices.Contains(known, l.Job) {
		return []facts.Link{l}
	}
	links, err := js.onItems(l, known, child.HasAgenda())
	if err != nil { // a job without these items: nothing but an unblock ends the wait
		return []facts.Link{l}
	}
	return links
}

// resolvedLink is a link to a known job. A job without a range runs its command once for each instance, so that its
// instances are its items; the instances of any other end when the job does.
func resolvedLink(l facts.Link, child, parent bool) facts.Link {
	if l.Of != facts.OfInstances {
		return l
	}
	l.Of = facts.OfItems
	if l.Items == "" && (child || parent) {
		l.Of = facts.OfJob
	}
	return l
}

// Whole makes of conditions item by item on submissions that have no item in common with this job conditions on their
// whole jobs. Conditions that have come true are left out: nothing would tell of that any more. A group has the
// conditions on the jobs of one submission.
func (js *Jobs) Whole(j *Job, groups [][]facts.Link) []facts.Link {
	var open []facts.Link
	for _, group := range groups {
		last := group[len(group)-1].Job
		shares := func(l facts.Link) bool {
			parent := js.ByID[l.Job]
			return parent == nil || j.Entries.Meets(parent.Entries)
		}
		some := slices.ContainsFunc(group, func(l facts.Link) bool { return l.Each() && shares(l) })
		for _, l := range group {
			if l.Each() && !shares(l) {
				if some {
					continue
				}
				l = l.Widen(len(group), last)
			}
			parent := js.ByID[l.Job]
			if parent != nil && l.Among == 0 && (l.Satisfied(parent.State) || l.Of == facts.OfItems && parent.haveEnded(l, j)) {
				continue
			}
			if !slices.Contains(open, l) {
				open = append(open, l)
			}
		}
	}
	return facts.ResolveLinks(open, js.became)
}

// became is the state of a job that others wait for, "" if it is no longer in memory.
func (js *Jobs) became(id facts.JobID) facts.JobState {
	if j := js.ByID[id]; j != nil {
		return j.State
	}
	return ""
}

// haveEnded says whether all items that a link of the child is on have ended as it wants; item by item it holds only
// when the job has ended, too.
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

// Met reports whether a condition of the job has come true. State is the state of the job that the condition is on.
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
	return j.unmet(func(id facts.JobID) facts.JobState {
		if parent := js.ByID[id]; parent != nil {
			return parent.State
		}
		return states[id]
	})
}

// After are the conditions of the job that are left when another has got into that state.
func (js *Jobs) After(j *Job, parent facts.JobID, state facts.JobState) []facts.Link {
	others := slices.DeleteFunc(slices.Clone(j.WaitFor),
		func(l facts.Link) bool { return l.Among == 0 && l.Job == parent && j.Met(l, state) })
	return facts.ResolveLinks(others, func(id facts.JobID) facts.JobState {
		if id == parent {
			return state
		}
		return js.became(id)
	})
}

func (j *Job) unmet(state func(facts.JobID) facts.JobState) []facts.Link {
	links := slices.DeleteFunc(slices.Clone(j.WaitFor),
		func(l facts.Link) bool { return l.Among == 0 && j.Met(l, state(l.Job)) })
	return facts.ResolveLinks(links, state)
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
