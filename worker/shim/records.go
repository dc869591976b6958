package shim

import (
	"errors"
	"path/filepath"
	"strings"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/tree"
)

// Intent is synced to disk before a shim is forked, and names the first attempt.
type Intent struct {
	Key     core.Key      `json:"key"`
	Attempt api.AttemptID `json:"attempt"`
	Boot    string        `json:"boot"`
	Mark    string        `json:"mark"` // in the environment of all that the shim starts

	LoadOnce bool `json:"load_once,omitempty"` // its job is, so that its shim keeps a program between items
	tree.Names
}

// NowRecord is what a shim runs. It is written in place, in one piece, before the process is forked and
// again when its pid is known.
type NowRecord struct {
	Attempt   api.AttemptID `json:"attempt"`
	Shim      proc.ID       `json:"shim"`
	Process   proc.ID       `json:"process"` // zero before the fork
	Ended     bool          `json:"ended,omitempty"`
	StartedAt core.Moment   `json:"started_at"`
}

// NowSize is set aside when the instance is made, so that a full disk cannot take the record away.
const NowSize = 1024

func LogPath(root string, id api.AttemptID) string {
	return filepath.Join(root, "log", AttemptName(id))
}

// sessionSuffix ends the name of the log that has what programs of load-once jobs write between two items.
const sessionSuffix = ".session"

// SessionLogPath is that log of the programs of a shim, by the attempt that the shim was started for. It lies beside
// the logs of attempts, and outlives the instance's folder until the supervisor has it.
func SessionLogPath(root string, first api.AttemptID) string {
	return LogPath(root, first) + sessionSuffix
}

// LogOf is the attempt that names a file in the folder of logs, and whether the file is the log of a session.
func LogOf(name string) (id api.AttemptID, session, ok bool) {
	name, session = strings.CutSuffix(name, sessionSuffix)
	id, ok = AttemptOf(name)
	return id, session, ok
}

// refusal is a failure to start that is the host's, not the command's: it does not know the owner, may
// not run as him, or cannot fork. Another host may do better, and no retry is charged.
type refusal struct {
	error
	code string
}

// Refused makes such a failure of an error.
func Refused(err error) error { return refusal{error: err} }

// UIDDiffers is the refusal of an owner whose name is another user's on this host.
func UIDDiffers(err error) error { return refusal{err, "uid_differs"} }

// RefusedPrefix starts the reason of an end with outcome refused.
const RefusedPrefix = "this host cannot run the item: "

// Unstarted is the end of an attempt of which nothing ran.
func Unstarted(err error) api.Finished {
	if r, ok := errors.AsType[refusal](err); ok {
		return api.Finished{Outcome: "refused", Code: r.code, Reason: RefusedPrefix + err.Error()}
	}
	return api.Finished{Outcome: "launch", Reason: err.Error()}
}
