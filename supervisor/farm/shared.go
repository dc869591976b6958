package farm

import (
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// shared is what all parts of the farm read and write. Each part has it, its own state, and the parts that it asks.
type shared struct {
	policy    message.Policy
	jobs      model.Jobs
	hosts     model.Hosts
	profiles  *profiles.Profiles
	licences  *licences.Book
	out       outbox.Outbox
	counts    message.Counts
	planStale bool // something changed that may move instances
	planNow   bool // a person asked for it: no settling
	doing     struct {
		job  facts.JobID
		host facts.HostID
	} // what a panic would be about
	replanAt time.Time // a deferred stop falls due then; zero: none
}

// putJob writes the job's row with the next version.
func (sh *shared) putJob(j *model.Job) {
	j.Version++
	j.Changed()
	sh.jobs.Count(j)
	sh.teach(j)
	sh.out.Write(facts.PutJob{Job: j.JobFacts})
}

// putHost writes the host's row.
func (sh *shared) putHost(h *model.Host) {
	sh.hosts.Alter(h)
	sh.out.Write(facts.PutHost{Host: h.HostFacts})
}

// setMarks writes what differs between the job's marks and these, which are by first item.
func (sh *shared) setMarks(j *model.Job, marks []facts.Mark) {
	w := j.SetMarks(marks)
	w.Job = j.ID
	if len(w.Remove)+len(w.Add) > 0 {
		sh.out.Write(w)
	}
}

// recordOf writes a line of history about an instance and its item.
func (sh *shared) recordOf(now time.Time, i *model.Instance, e facts.EventFacts) {
	e.Job = i.Job.ID
	e.Item = i.Attempt.Item
	e.Instance = i.Number
	e.Host = i.Host.ID
	sh.out.Record(now, e)
}

// teach gives the job's profile what the job's items have taught until now; that of a job that has ended is a row.
func (sh *shared) teach(j *model.Job) {
	switch {
	case j.Profile == "":
	case j.State.Final():
		sh.profiles.Learn(j.ProfileKey(), j.Lesson(sh.policy.Memory, sh.policy.CPUShare.Quantile))
	default:
		sh.profiles.Teach(j.ProfileKey(), j.Lesson(sh.policy.Memory, sh.policy.CPUShare.Quantile))
	}
}

// replanSoon makes a plan due at that time, if none is due before.
func (sh *shared) replanSoon(at time.Time) {
	if sh.replanAt.IsZero() || at.Before(sh.replanAt) {
		sh.replanAt = at
	}
}
