package api

import "time"

// Learned is what a profile knows of the items of the next job.
type Learned struct {
	Memory     int64   `json:"memory_bytes,omitempty" doc:"Memory that an item needs; absent: not known."`
	Seconds    float64 `json:"seconds,omitempty" doc:"Time that an item takes; absent: not known."`
	Items      int     `json:"items" doc:"Number of complete items from which this is known."`
	Jobs       int     `json:"jobs" doc:"Number of jobs to which these belong."`
	MemorySet  bool    `json:"memory_set,omitempty" doc:"The memory was set by a person, and no larger one was learned since."`
	SecondsSet bool    `json:"seconds_set,omitempty" doc:"The same of the time."`
}

// Profile is what was learned from jobs of one kind of one user.
type Profile struct {
	Name    string     `json:"name"`
	User    string     `json:"user"`
	Learned Learned    `json:"learned"`
	Latest  *time.Time `json:"latest" doc:"When the latest of the jobs ended, or the profile was set; now, if one of them runs."`
	By      string     `json:"by,omitempty" doc:"Who set or forgot something last."`
}

// ProfileChange sets what a profile knows. What is absent stays as it is.
type ProfileChange struct {
	Memory  *int64   `json:"memory_bytes,omitempty" doc:"More than 0. Only jobs submitted from now on can raise it."`
	Seconds *float64 `json:"seconds,omitempty" doc:"More than 0. Only jobs submitted from now on can raise it."`
}

// The endpoints of profiles.
var (
	ListProfiles  = Endpoint{"list-profiles", "GET", "/v1/profiles", ReadOnly, "What was learned from jobs, by profile"}
	SetProfile    = Endpoint{"set-profile", "PATCH", "/v1/profiles/{profile}", User, "Correct what a profile knows"}
	ForgetProfile = Endpoint{"forget-profile", "DELETE", "/v1/profiles/{profile}", User, "Forget what a profile knows"}
)
