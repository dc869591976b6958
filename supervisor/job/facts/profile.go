package facts

import "time"

// ProfileKey names a profile: jobs of one owner that are taken to need alike.
type ProfileKey struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
}

// ProfileFacts is the row of a profile: what its ended jobs have taught, and what a person has set.
type ProfileFacts struct {
	ProfileKey
	Lessons []Lesson `json:"lessons"` // of the jobs that ended last, the latest first; never changed in place

	// A person may set memory (bytes) or seconds; 0: neither. Then, and after what was learned has been forgotten, only
	// jobs with higher numbers teach it.
	Memory       int64     `json:"memory"`
	MemoryAfter  JobID     `json:"memory_after"`
	Seconds      float64   `json:"seconds"`
	SecondsAfter JobID     `json:"seconds_after"`
	By           string    `json:"by"` // who did so last; "": no user
	At           time.Time `json:"at"` // when a job of it ended last, or a person changed it
}

// Lesson is what one job has taught its profile.
type Lesson struct {
	Job     JobID     `json:"job"`
	EndedAt time.Time `json:"ended_at"`
	Items   int       `json:"items"`   // complete ones
	Memory  int64     `json:"memory"`  // bytes that an item needs; 0: not known
	Seconds float64   `json:"seconds"` // that an item takes; 0: not known
}

// Estimate is what a profile knows of the items of its next job.
type Estimate struct {
	Memory     int64   // bytes that an item needs; 0: not known
	Seconds    float64 // that an item takes; 0: not known
	Items      int     // from which either is known
	Jobs       int     // of these
	MemorySet  bool    // a person has set it, and nothing larger was learned since
	SecondsSet bool
	Latest     time.Time // when the latest of the jobs ended, or the person set it; a job that has not ended teaches now
}

// Known says whether the estimate helps.
func (e Estimate) Known() bool { return e.Memory > 0 || e.Seconds > 0 }
