// Package pgcluster runs a private Postgres as a child process, for farms that name no database of their own.
// The server comes from installed binaries; it has no TCP port, its socket lies in a folder that only its user
// (and root) can enter. It accepts only the user of this process and its own user, by peer authentication.
//
//	find ──> init (pg.new, then renamed to pg) ──> preflight ──> run ──> ready ──> stopped
//	                                                   ^                  │
//	                                                   └── back-off <── died
//
// It must never run as root or as an account that other services use, never start beside another server on the same
// folder, never call itself ready because somebody else's server answers, and never remove a lock file while a process
// of the old server lives.
// Linux only: it relies on the death signal and on /proc.
//
// Read first: cluster.go (Start, Stop), preflight.go (what a crash leaves behind), run.go (the keeper).
package pgcluster
