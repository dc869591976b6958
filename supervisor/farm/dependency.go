package farm

import (
	"cmp"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/model"
)

// recall takes ended jobs up again whose items others are to wait for. A record that is older than what the farm knew is
// left out: the request that needs it is then refused and repeated.
func (f *Farm) recall(now time.Time, records []*items.Prepared) {
	for _, p := range records {
		if id := p.Job.ID; f.jobs.ByID[id] != nil || id >= f.jobs.Next || !p.Job.State.Final() || p.Job.Version < f.jobs.Recalled[id] {
			continue
		}
		if j, err := f.admit(now, p); err == nil {
			j.Recalled = true
		}
	}
}

// appear lets those know that waited for the job's label to appear in its process group.
func (f *Farm) appear(now time.Time, j *model.Job) {
	for _, child := range f.jobs.Appeared(j) {
		if child.State == facts.Blocked && child.BlockedBy == "" && !child.Holds() {
			child.State, f.planStale = facts.Active, true
			f.out.Record(now, facts.EventFacts{Type: "unblocked", Job: child.ID, Item: -1, Instance: -1,
				Why: facts.Because(facts.ReasonLabelAppeared, facts.Params{Job: j.ID, Label: j.Label}, "")})
		}
		f.putJob(child)
	}
}

// follow takes up what ends of items have opened for others.
func (f *Farm) follow() {
	ready, through := f.jobs.TakeMoved()
	for _, j := range ready {
		j.Changes++
		f.planStale = f.planStale || j.State == facts.Active
	}
	for _, j := range through {
		f.freeing = append(f.freeing, ended{j.ID, j.State})
	}
}

// regroup notes that the job has moved from a process group, if it has.
func (f *Farm) regroup(now time.Time, j *model.Job, was facts.JobID) {
	if j.PGrp != was {
		f.jobs.Regroup(j, was)
		f.appear(now, j)
	}
}

// refusesGroup refuses to move a job into a process group, if it cannot be there.
func (f *Farm) refusesGroup(j *model.Job, group facts.JobID, e message.JobModified) bool {
	if group == j.PGrp {
		return false
	}
	if l := slices.IndexFunc(j.WaitFor, func(l facts.Link) bool { return l.Job == 0 }); l >= 0 {
		f.out.Refuse(e.Ticket, "conflict", "job %d waits for label %s to appear in its process group %d; submit that job, or unblock this one, before it moves", j.ID, j.WaitFor[l].Label, j.PGrp)
		return true
	}
	if why := cmp.Or(f.jobs.LabelTaken(group, j.ID, j.Label, e.LabelHas), f.jobs.Circle(group, j.Label, j.WaitFor)); why != "" {
		f.out.Refuse(e.Ticket, "conflict", "%s", why)
		return true
	}
	return false
}
