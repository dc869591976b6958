package api

import (
	"cmp"
	"runtime/debug"
)

// Protocol numbers what workers and supervisors must understand of each other. A release that changes it raises it by
// one.
const Protocol = 1

// Codes of a worker that speaks a protocol too far from the supervisor's.
const (
	CodeWorkerTooOld = "worker-too-old"
	CodeWorkerTooNew = "worker-too-new"
)

// CheckProtocol refuses a worker that states no protocol, or another than the supervisor's and its two neighbours. The
// version is for people only.
func CheckProtocol(supervisor int, host string, worker int, version string) error {
	version = cmp.Or(version, "an unknown version")
	oldest := max(1, supervisor-1)
	refusal := func(code, way string) error {
		e := Errorf(KindConflict, "the worker of host %q (%s) speaks protocol %d, and this supervisor (%s) speaks %d and takes %d to %d: %s; what runs there goes on until its lease ends",
			host, version, worker, Version(), supervisor, oldest, supervisor+1, way)
		e.Code = code
		return e
	}
	switch {
	case worker < oldest:
		return refusal(CodeWorkerTooOld, "upgrade qb on that host to the supervisor's release")
	case worker > supervisor+1:
		return refusal(CodeWorkerTooNew, "upgrade the supervisors first, or install their release on that host")
	}
	return nil
}

// Version is this program's, for people.
func Version() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "unknown"
}
