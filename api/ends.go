package api

import "time"

// EndRecord is one run of an attempt as its worker knows it. Moments are seconds since the boot named: those of two
// boots, or two hosts, are compared by clock checks only.
type EndRecord struct {
	_ struct{} `additionalProperties:"true"`

	Attempt  AttemptID `json:"attempt"`
	Boot     string    `json:"boot_id"`
	Started  float64   `json:"started" doc:"0: it never ran."`
	Ended    float64   `json:"ended" doc:"When its first process ended or was found to be gone; for a running attempt, when the record was sent."`
	Frozen   float64   `json:"frozen,omitempty" doc:"When it was frozen because its lease ended; 0: it was not."`
	Outcome  string    `json:"outcome" doc:"As in finished; running: not ended."`
	ExitCode *int      `json:"exit_code,omitempty"`
	Signal   *int      `json:"signal,omitempty"`
}

// OutcomeRunning is the outcome of an EndRecord whose run goes on.
const OutcomeRunning = "running"

// ClockCheck compares a host's time since boot with the farm's time.
type ClockCheck struct {
	_ struct{} `additionalProperties:"true"`

	Boot  string    `json:"boot_id"`
	At    float64   `json:"at" doc:"Seconds since that boot."`
	Time  time.Time `json:"time" doc:"The farm's time at that moment."`
	Error float64   `json:"error" doc:"Maximum error of the comparison, in seconds."`
}

// EndsPage is a part of what a worker keeps of the ends of a day.
type EndsPage struct {
	_ struct{} `additionalProperties:"true"`

	Host    string       `json:"host"`
	StateID string       `json:"state_id" doc:"Of the worker's state folder, which it keeps when its host is renamed."`
	Audit   string       `json:"audit" doc:"The ask_ends of the sync's answer."`
	Since   time.Time    `json:"since" doc:"The records are complete from this time on (the farm's time)."`
	Records []EndRecord  `json:"records"`
	Clocks  []ClockCheck `json:"clocks"`
	Last    bool         `json:"last"`
}

// EndsReply says whether the audit wants more.
type EndsReply struct {
	_ struct{} `additionalProperties:"true"`

	Wanted bool `json:"wanted"`
}
