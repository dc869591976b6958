package model

import (
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
)

// ProfileKey is the job's profile.
func (j *Job) ProfileKey() facts.ProfileKey { return facts.ProfileKey{Owner: j.User, Name: j.Profile} }

// FirstSeconds is how long an item is taken to run before one has returned: as stated, else as the profile knows; 0:
// neither.
func (j *Job) FirstSeconds() float64 {
	if j.TimeEstimate > 0 {
		return float64(j.TimeEstimate)
	}
	return j.Learned.Seconds
}

// LearnedMemory is what the profile knows of the memory of an item, until enough of the job's own have returned; 0 if
// the job states its memory.
func (j *Job) LearnedMemory() int64 {
	if j.Needs.Memory > 0 || j.Memory.Peaks.Count() >= items.Enough {
		return 0
	}
	return j.Learned.Memory
}

// GoesBy is what the job's estimates are of its profile's; nothing if neither is.
func (j *Job) GoesBy() facts.Estimate {
	e := j.Learned
	if j.State.Final() || j.LearnedMemory() <= j.Memory.Largest { // its own items need as much
		e.Memory, e.MemorySet = 0, false
	}
	if j.State.Final() || j.TimeEstimate > 0 || j.Times.Count() > 0 {
		e.Seconds, e.SecondsSet = 0, false
	}
	if !e.Known() {
		return facts.Estimate{}
	}
	return e
}

// Lesson is what the job's items have taught until now. Of failed ones only those teach that ran out of memory: others
// may have ended long before they had what they need.
func (j *Job) Lesson(p items.MemoryPolicy, timeQuantile float64) facts.Lesson {
	l := facts.Lesson{Job: j.ID, EndedAt: j.FinishedAt, Items: max(j.Memory.Peaks.Count(), j.Times.Count())}
	if j.Memory.Peaks.Count() > 0 || len(j.Memory.Raised) > 0 {
		l.Memory, _ = j.Memory.Learned(p, 0, -1)
	}
	if j.Times.Count() > 0 {
		l.Seconds = j.Times.Seconds(0, timeQuantile)
	}
	return l
}
