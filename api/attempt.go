package api

import (
	"encoding/json"
	"time"
)

// Attempt is one try at one item.
type Attempt struct {
	Job         int64           `json:"job"`
	Item        string          `json:"item"`
	Number      int             `json:"number" doc:"The item's number."`
	Attempt     int             `json:"attempt" doc:"From 1."`
	State       string          `json:"state" enum:"running,stopping,done,failed,killed,preempted,lost,superseded"`
	Kind        string          `json:"kind" enum:"primary,secondary"`
	Host        string          `json:"host"`
	Instance    string          `json:"instance"`
	ExitCode    *int            `json:"exit_code"`
	Signal      *int            `json:"signal"`
	Code        string          `json:"code" doc:"The reason as a code, see docs/codes.md; empty: none."`
	Params      *CodeParams     `json:"params,omitempty"`
	Reason      string          `json:"reason" doc:"The reason as a sentence, for people."`
	StartedAt   time.Time       `json:"started_at"`
	FinishedAt  *time.Time      `json:"finished_at"`
	CPUSeconds  float64         `json:"cpu_seconds"`
	PeakMemory  int64           `json:"peak_memory"`
	Highlights  []string        `json:"highlights,omitempty" doc:"Lines of its output that match the job's regex_highlights, for those who may read its output."`
	OutputPaths []string        `json:"outputpaths,omitempty" doc:"Paths that the job's regex_outputpaths found in its output, for those who may read its output."`
	Result      json.RawMessage `json:"result,omitempty" doc:"JSON that the program of a load-once job has reported of the item, for those who may read its output."`
	Ahead       bool            `json:"ahead,omitempty" doc:"It was given to its instance ahead, while that had another item, and begins after that one; before it has ended, started_at is when it was given."`
	Overuse     string          `json:"overuse,omitempty" doc:"Set if it used at least 1.5 times the processor time of its slots, such as: 30 cores on 1 slot."`
}
