package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// label names a job within its process group.
type label struct {
	group facts.JobID
	name  string
}

// maxAwaiting is how many jobs may wait for one label: all of them are notified in the commit in which it appears.
const maxAwaiting = 500

// labels are the labels of jobs in memory, and who waits for a label that no job has yet.
type labels struct {
	jobs     map[label]facts.JobID
	awaiting map[label][]facts.JobID
}

func (ls labels) enter(j *Job) {
	if j.Label != "" && !j.Part() {
		ls.jobs[label{j.PGrp, j.Label}] = j.ID
	}
}

func (ls labels) leave(j *Job) {
	if at := (label{j.PGrp, j.Label}); ls.jobs[at] == j.ID {
		delete(ls.jobs, at)
	}
	for _, l := range j.WaitFor {
		at := label{j.PGrp, l.Label}
		ls.awaiting[at] = slices.DeleteFunc(ls.awaiting[at], func(id facts.JobID) bool { return id == j.ID })
		if len(ls.awaiting[at]) == 0 {
			delete(ls.awaiting, at)
		}
	}
}

// Regroup notes that the job has another process group than it had.
func (js *Jobs) Regroup(j *Job, was facts.JobID) {
	if at := (label{was, j.Label}); js.labels.jobs[at] == j.ID {
		delete(js.labels.jobs, at)
	}
	js.labels.enter(j)
}

// Labelled is the job in memory that has the label in the group, 0 if there is none.
func (js *Jobs) Labelled(group facts.JobID, name string) facts.JobID {
	return js.labels.jobs[label{group, name}]
}

// LabelTaken says why a job may not have this label in the group, "" if it may. Elsewhere is the job that has it there
// and may no longer be in memory; 0: none.
func (js *Jobs) LabelTaken(group, job facts.JobID, name string, elsewhere facts.JobID) string {
	has := cmp.Or(js.Labelled(group, name), elsewhere)
	if has == 0 || has == job {
		return ""
	}
	return fmt.Sprintf("label %q: job %d has it in process group %d, and a label names one job of its group; give another",
		name, has, group)
}

// Crowded says why a submission of so many jobs may not have this label in the group: a job that waits for the label
// would wait for too many. "" if it may.
func (js *Jobs) Crowded(group facts.JobID, name string, jobs int) string {
	for _, child := range js.Awaiting(group, name) {
		if len(child.WaitFor)-1+jobs > facts.MaxLinks {
			return fmt.Sprintf("label %q: job %d waits for it, and would wait for more than %d jobs; divide the submission into fewer", name, child.ID, facts.MaxLinks)
		}
	}
	return ""
}

// Awaiting are the unfinished jobs that wait for the label to appear in the group, by id.
func (js *Jobs) Awaiting(group facts.JobID, name string) (list []*Job) {
	for _, id := range js.labels.awaiting[label{group, name}] {
		if j := js.ByID[id]; j != nil && !j.State.Final() && j.PGrp == group && j.awaits(name) {
			list = append(list, j)
		}
	}
	return list
}

func (j *Job) awaits(name string) bool {
	return slices.ContainsFunc(j.WaitFor, func(l facts.Link) bool { return l.Job == 0 && l.Label == name })
}

// await notes that the job waits for a label.
func (js *Jobs) await(j *Job, name string) {
	at := label{j.PGrp, name}
	if !slices.Contains(js.labels.awaiting[at], j.ID) {
		js.labels.awaiting[at] = append(js.labels.awaiting[at], j.ID)
	}
}

// Appeared puts the jobs that have a label now into the conditions of the jobs that waited for it. Those of one
// submission appear with the last of them, so that no child goes on by some of them.
func (js *Jobs) Appeared(j *Job) (waited []*Job) {
	if j.Label == "" || j.Part() {
		return nil
	}
	waited = js.Awaiting(j.PGrp, j.Label)
	delete(js.labels.awaiting, label{j.PGrp, j.Label})
	for _, child := range waited {
		groups := make([][]facts.Link, len(child.WaitFor))
		for n, l := range child.WaitFor {
			groups[n] = []facts.Link{l}
			if l.Job == 0 && l.Label == j.Label {
				l.Job = j.ID
				groups[n] = js.appeared(l, child, nil)
			}
		}
		child.WaitFor = js.Whole(child, groups)
		js.WaitOn(child)
		js.Watch(child)
	}
	return waited
}

// Resolve puts jobs that have appeared into those conditions of an ended job that name a label; elsewhere are the jobs
// of its group that may no longer be in memory, before the others of their submissions. A condition by which the job
// would wait for itself now is left out: other jobs came to wait for it after it had ended.
func (js *Jobs) Resolve(j *Job, elsewhere map[string]facts.JobID, before map[facts.JobID][]facts.JobID) {
	var groups [][]facts.Link
	for _, l := range j.WaitFor {
		group := []facts.Link{l}
		if l.Job == 0 {
			if l.Job = cmp.Or(js.Labelled(j.PGrp, l.Label), elsewhere[l.Label]); l.Job != 0 {
				group = js.appeared(l, j, before)
			}
		}
		if js.chain(group, func(o *Job) bool { return o == j }) == nil {
			groups = append(groups, group)
		}
	}
	j.WaitFor = js.Whole(j, groups)
}

// chain is a path of links to a job that is a goal, also through what others wait for: the jobs from
// that of a link to the goal. It is nil if there is none.
func (js *Jobs) chain(links []facts.Link, goal func(*Job) bool) (way []facts.JobID) {
	var next []facts.JobID
	from := map[facts.JobID]facts.JobID{0: 0}
	look := func(at facts.JobID, links []facts.Link) {
		for _, l := range links {
			if _, seen := from[l.Job]; !seen {
				from[l.Job] = at
				next = append(next, l.Job)
			}
		}
	}
	look(0, links)
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		j := js.ByID[at]
		switch {
		case j == nil:
		case goal(j):
			for ; at != 0; at = from[at] {
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		case !j.State.Final():
			look(at, j.WaitFor)
		}
	}
	return nil
}

// RefusesGroup says why a job cannot move into a process group, nil if it can. Elsewhere is the job that has its label
// there and may no longer be in memory.
func (js *Jobs) RefusesGroup(j *Job, group, elsewhere facts.JobID) *outbox.Refusal {
	if group == j.PGrp {
		return nil
	}
	if l := slices.IndexFunc(j.WaitFor, func(l facts.Link) bool { return l.Job == 0 }); l >= 0 {
		return outbox.Refused("conflict",
			"job %d waits for label %s to appear in its process group %d; submit that job, or unblock this one, before it moves",
			j.ID, j.WaitFor[l].Label, j.PGrp)
	}
	if j.Part() {
		return nil // the last job of its submission has the label
	}
	var links []facts.Link
	for _, id := range js.Together(j.ID, nil) {
		if part := js.ByID[id]; part != nil {
			links = append(links, part.WaitFor...)
		}
	}
	if why := cmp.Or(js.LabelTaken(group, j.ID, j.Label, elsewhere), js.Circle(group, j.Label, links)); why != "" {
		return outbox.Refused("conflict", "%s", why)
	}
	return nil
}

// Circle says why a job may not have this label in the group: jobs that wait for the label would have the job wait for
// itself, by these links of it. "" if there is no such circle.
func (js *Jobs) Circle(group facts.JobID, name string, links []facts.Link) string {
	awaiting := js.Awaiting(group, name)
	if len(awaiting) == 0 {
		return ""
	}
	way := js.chain(links, func(j *Job) bool { return slices.Contains(awaiting, j) })
	if way == nil {
		return ""
	}
	var chain []string
	for _, id := range way {
		text := fmt.Sprintf("job %d", id)
		if label := js.ByID[id].Label; label != "" {
			text += " (" + label + ")"
		}
		chain = append(chain, text)
	}
	if len(chain) > maxChain {
		chain = append(append(chain[:maxChain-1:maxChain-1], "…"), chain[len(chain)-1])
	}
	return fmt.Sprintf("the jobs would wait for each other: %s waits for %s, which waits for %s in process group %d", name,
		strings.Join(chain, ", which waits for "), name, group)
}

// maxChain is how many jobs of a circle are shown.
const maxChain = 8
