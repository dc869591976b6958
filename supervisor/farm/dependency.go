package farm

import (
	"time"

	"qb/supervisor/farm/items"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// dependencies lets jobs go on whose conditions have come true, and is what of that a commit had no room for.
type dependencies struct {
	*shared
	freeing   []ended                        // jobs that became final, whose children are not all notified yet
	unsettled []*model.Job                   // from the rows, not looked at yet
	final     map[facts.JobID]facts.JobState // final jobs that those wait for
}

// recall takes ended jobs up again whose items others are to wait for. A record that is older than what the farm knew
// is left out: the request that needs it is then refused and repeated.
func (f *Farm) recall(now time.Time, records []*items.Prepared) {
	for _, p := range records {
		if id := p.Job.ID; f.jobs.ByID[id] != nil || id >= f.jobs.Next || !p.Job.State.Final() ||
			p.Job.Version < f.jobs.Recalled[id] {
			continue
		}
		if j, err := f.admit(now, p); err == nil {
			j.Recalled = true
		}
	}
}

// appear lets those know that waited for the job's label to appear in its process group.
func (de *dependencies) appear(now time.Time, j *model.Job) {
	for _, child := range de.jobs.Appeared(j) {
		if child.State == facts.Blocked && child.BlockedBy == "" && !child.Holds() {
			child.State, de.planStale = facts.Active, true
			de.out.Record(now, facts.EventFacts{Type: "unblocked", Job: child.ID, Item: -1, Instance: -1,
				Why: facts.Because(facts.ReasonLabelAppeared, facts.Params{Job: j.ID, Label: j.Label}, "")})
		}
		de.putJob(child)
	}
}

// follow takes up what ends of items have opened for others.
func (de *dependencies) follow() {
	ready, through := de.jobs.TakeMoved()
	for _, j := range ready {
		j.Changed()
		de.planStale = de.planStale || j.State == facts.Active
	}
	for _, j := range through {
		de.freeing = append(de.freeing, ended{j.ID, j.State})
	}
}

// regroup notes that the job has moved from a process group, if it has.
func (de *dependencies) regroup(now time.Time, j *model.Job, was facts.JobID) {
	if j.PGrp != was {
		de.jobs.Regroup(j, was)
		de.appear(now, j)
	}
}
