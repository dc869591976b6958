package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"qb/api"
	"qb/internal/patterns"
)

// A program that is kept and its shim talk over the socket that QB_WORK names, one JSON value a line: see
// docs/sessions.md. A request has one reply.

// Bounds of that.
const (
	workVersion = 1
	workLine    = 64 << 10 // bytes of a request
	workConns   = 16
	workWait    = 10 * time.Second      // for which a request for an item is held at most
	workLeast   = 10 * time.Millisecond // the same at least, so that a program that asks on and on costs little
	workWrite   = 5 * time.Second
)

// What a program may ask.
const (
	doRequestWork = "requestwork"
	doReportWork  = "reportwork"
	doReportJob   = "reportjob"
	doJobObject   = "jobobj"
)

// Statuses of replies and of reports.
const (
	workRunning  = "running"
	workWaiting  = "waiting"
	workBlocked  = "blocked"
	workPending  = "pending"
	workComplete = "complete"
	workFailed   = "failed"
	workOK       = "ok"
)

// Codes of refusals.
const (
	workTooLong  = "too_long"
	workNotJSON  = "not_json"
	workUnknown  = "unknown"
	workNotYours = "not_yours"
	workReported = "reported"
	workRefused  = "refused"
	workResult   = "result_too_long"
)

// workRequest is what a program asks or reports.
type workRequest struct {
	Version     int             `json:"version"`
	Do          string          `json:"do"`
	Wait        float64         `json:"wait"` // seconds
	Item        int             `json:"item"`
	Attempt     int             `json:"attempt"`
	Status      string          `json:"status"`
	ExitCode    int             `json:"exit_code"`
	Reason      string          `json:"reason"`
	Progress    float64         `json:"progress"`
	OutputPaths []string        `json:"output_paths"`
	Result      json.RawMessage `json:"result"`
}

// workReply is the answer.
type workReply struct {
	Version int    `json:"version"`
	Status  string `json:"status,omitempty"`
	Work    *Work  `json:"work,omitempty"`
	Job     *Job   `json:"job,omitempty"`
	Error   string `json:"error,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Work is an item as a program gets it.
type Work struct {
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
	Paths    []PathEntry       `json:"paths,omitempty"`
}

// PathEntry is a path elsewhere and what it is on this host.
type PathEntry struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Job is what a program may know of its job.
type Job struct {
	ID       int64             `json:"id"`
	Name     string            `json:"name"`
	User     string            `json:"user"`
	Instance int               `json:"instance"`
	PGrp     int64             `json:"pgrp"`
	Command  []string          `json:"command"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env,omitempty"`
	Paths    []PathEntry       `json:"paths,omitempty"`
}

func status(word string) workReply { return workReply{Status: word} }

func refuse(code, format string, args ...any) workReply {
	return workReply{Error: code, Detail: fmt.Sprintf(format, args...)}
}

// errLong says that a request has no end where one must have it.
var errLong = errors.New("a request is too long")

// readRequest reads a line. After an error nothing more can be read of the connection; a refusal, which has an Error,
// is the reply to a request that makes no sense.
func readRequest(lines *bufio.Reader) (r workRequest, refusal workReply, err error) {
	var line []byte
	for {
		piece, err := lines.ReadSlice('\n')
		if len(line)+len(piece) > workLine {
			return r, refuse(workTooLong, "the request takes more than %d bytes; write what is larger into a file",
				workLine), errLong
		}
		line = append(line, piece...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return r, refusal, err
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, refuse(workNotJSON, "the request %.200q is no JSON object of the known members: %v",
			bytes.TrimSpace(line), err), nil
	}
	if r.Version != workVersion {
		return r, refuse(workUnknown, "version %d of the protocol is not known; this host knows version %d", r.Version,
			workVersion), nil
	}
	return r, refusal, nil
}

// check finds what is wrong with the report of an item itself.
func (r *workRequest) check() (refusal workReply) {
	switch r.Status {
	case workComplete, workFailed, workRunning:
	default:
		return refuse(workUnknown, "the status %.100q of an item is not known; use complete, failed or running", r.Status)
	}
	if len(r.Result) > 0 {
		var small bytes.Buffer
		_ = json.Compact(&small, r.Result) // it was parsed
		if r.Result = small.Bytes(); len(r.Result) > api.MaxResult {
			return refuse(workResult, "the result takes %d bytes of JSON, and at most %d are kept; write it into a file and report the path",
				len(r.Result), api.MaxResult)
		}
	}
	if len(r.OutputPaths) > patterns.MostPaths {
		return refuse(workTooLong, "the report names %d output paths, and at most %d are kept; report the folder of the files",
			len(r.OutputPaths), patterns.MostPaths)
	}
	for _, path := range r.OutputPaths {
		if len(path) > patterns.MaxPath {
			return refuse(workTooLong, "the output path %.100q … has %d bytes, and at most %d are kept; use a shorter path",
				path, len(path), patterns.MaxPath)
		}
	}
	return workReply{}
}
