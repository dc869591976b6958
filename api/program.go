package api

import "encoding/json"

// ProgramVersion is the version of the protocol that the program of a load-once job speaks with its worker, over the
// socket that QB_WORK names: one JSON value a line, and one reply to each request. docs/sessions.md describes it.
const ProgramVersion = 1

// What a program may ask.
const (
	ProgramRequestWork = "requestwork"
	ProgramReportWork  = "reportwork"
	ProgramReportJob   = "reportjob"
	ProgramJobObject   = "jobobj"
)

// Statuses of replies and of reports.
const (
	ProgramRunning  = "running"
	ProgramWaiting  = "waiting"
	ProgramBlocked  = "blocked"
	ProgramPending  = "pending"
	ProgramComplete = "complete"
	ProgramFailed   = "failed"
	ProgramOK       = "ok"
)

// Codes of refusals.
const (
	ProgramTooLong       = "too_long"
	ProgramNotJSON       = "not_json"
	ProgramUnknown       = "unknown"
	ProgramNotYours      = "not_yours"
	ProgramReported      = "reported"
	ProgramRefused       = "refused"
	ProgramResultTooLong = "result_too_long"
)

// ProgramEnvironment is the code of a report that the program could not make what all of its items need, such as an
// environment of Open Job Description.
const ProgramEnvironment = "environment"

// ProgramRequest is what a program asks or reports.
type ProgramRequest struct {
	Version     int             `json:"version"`
	Do          string          `json:"do"`
	Wait        float64         `json:"wait,omitempty"` // seconds
	Item        int             `json:"item"`
	Attempt     int             `json:"attempt,omitempty"`
	Status      string          `json:"status,omitempty"`
	ExitCode    int             `json:"exit_code,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Code        string          `json:"code,omitempty"` // why it failed
	Progress    float64         `json:"progress,omitempty"`
	OutputPaths []string        `json:"output_paths,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
}

// ProgramReply is the answer.
type ProgramReply struct {
	Version int          `json:"version"`
	Status  string       `json:"status,omitempty"`
	Work    *ProgramItem `json:"work,omitempty"`
	Job     *ProgramJob  `json:"job,omitempty"`
	Error   string       `json:"error,omitempty"`
	Detail  string       `json:"detail,omitempty"`
}

// ProgramItem is an item as a program gets it.
type ProgramItem struct {
	Item     int               `json:"item"`
	Attempt  int               `json:"attempt"`
	Name     string            `json:"name"`
	Start    *int64            `json:"start,omitempty"` // none of a label
	End      *int64            `json:"end,omitempty"`
	Step     *int64            `json:"step,omitempty"`
	Job      int64             `json:"job"`
	Instance int               `json:"instance"`
	Slots    int               `json:"slots"`
	Memory   int64             `json:"memory"`
	Env      map[string]string `json:"env,omitempty"`
	Paths    []MappedPath      `json:"paths,omitempty"`
}

// MappedPath is a path elsewhere and what it is on this host.
type MappedPath struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// ProgramJob is what a program may know of its job.
type ProgramJob struct {
	ID       int64             `json:"id"`
	Name     string            `json:"name"`
	User     string            `json:"user"`
	Instance int               `json:"instance"`
	PGrp     int64             `json:"pgrp"`
	Command  []string          `json:"command"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env,omitempty"`
	Paths    []MappedPath      `json:"paths,omitempty"`
}
