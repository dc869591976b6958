package farm

import (
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/model"
	"qb/supervisor/profiles"
)

func (f *Farm) onProfileChanged(now time.Time, e message.ProfileChanged) {
	known, text, refusal := f.profiles.Make(now, e.Change, e.By, f.jobs.Next-1)
	if refusal != nil {
		f.out.Reject(e.Ticket, refusal)
		return
	}
	f.out.Record(now, facts.EventFacts{Type: "profile-changed", Item: -1, Instance: -1, By: e.By, Why: facts.Why{Cause: text}})
	f.planStale = true
	f.out.Answer(e.Ticket, known)
}

// Profiles are those that help the next job; an empty owner or name stands for all.
func (f *Farm) Profiles(now time.Time, of facts.ProfileKey) []profiles.Known {
	return f.profiles.List(now, of)
}

// teach gives the job's profile what the job's items have taught until now; that of a job that has ended is a row.
func (f *Farm) teach(j *model.Job) {
	switch {
	case j.Profile == "":
	case j.State.Final():
		f.profiles.Settle(j.ProfileKey(), j.Lesson(f.policy.Memory, f.policy.CPUShare.Quantile))
	default:
		f.profiles.Teach(j.ProfileKey(), j.Lesson(f.policy.Memory, f.policy.CPUShare.Quantile))
	}
}

// teachEnd teaches what an end has taught. Other jobs of the profile that wait for memory may need less now.
func (f *Farm) teachEnd(now time.Time, j *model.Job) {
	before := f.profiles.Estimate(now, j.ProfileKey()).Memory
	f.teach(j)
	if len(f.waitingForMemory) > 0 && f.profiles.Estimate(now, j.ProfileKey()).Memory != before {
		f.planStale = true
	}
}

// teachAll teaches anew what unfinished jobs have taught, by another policy.
func (f *Farm) teachAll() {
	for _, j := range f.jobs.Sorted() {
		if !j.State.Final() {
			f.teach(j)
		}
	}
}
