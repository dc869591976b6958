package model

import "time"

const (
	finalJobsKept  = 1_000     // most recent final jobs that stay in memory
	finalBytesKept = 256 << 20 // and no more than they take in all
	recalledKept   = 10_000    // versions of jobs that came back and were forgotten again
	MaxAttempts    = 10_000    // of one item; then it is held
	maxHold        = 60 * time.Second
	claimHold      = 2 * time.Second // most that a sync is held of a host whose name is claimed
	listenStep     = time.Second     // most that one tick counts as time of listening
	protectedAfter = 3               // preemptions after which an item is never stopped again, only drained
)
