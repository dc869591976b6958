package farm

import (
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
)

func (f *Farm) onProfileChanged(now time.Time, e message.ProfileChanged) {
	known, text, refusal := f.profiles.Make(now, e.Change, e.By, f.jobs.Next-1)
	if refusal != nil {
		f.out.Reject(e.Ticket, refusal)
		return
	}
	f.out.Record(now, facts.EventFacts{Type: "profile-changed", Item: -1, Instance: -1, By: e.By,
		Why: facts.Why{Cause: text}})
	f.planStale = true
	f.out.Answer(e.Ticket, known)
}

// Profiles are the profiles that help the next job; an empty owner or name means all.
func (f *Farm) Profiles(now time.Time, of facts.ProfileKey) []profiles.Profile {
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

// teachAll teaches again what unfinished jobs have taught, by another policy.
func (f *Farm) teachAll() {
	for _, j := range f.jobs.Sorted() {
		if !j.State.Final() {
			f.teach(j)
		}
	}
}
