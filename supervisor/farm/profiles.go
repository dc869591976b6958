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

// teachEnd teaches what an end has taught. Other jobs of the profile that wait for memory may need less now.
func (pl *planning) teachEnd(now time.Time, j *model.Job) {
	before := pl.profiles.Estimate(now, j.ProfileKey()).Memory
	pl.teach(j)
	if len(pl.waitingForMemory) > 0 && pl.profiles.Estimate(now, j.ProfileKey()).Memory != before {
		pl.planStale = true
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
