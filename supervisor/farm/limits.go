package farm

import "time"

// Every list and wait of the farm has its limit here.
const (
	maxHosts         = 100_000
	finalJobsKept    = 1_000     // most recent final jobs that stay in memory
	finalBytesKept   = 256 << 20 // and no more than they take in all
	recalledKept     = 10_000    // versions of jobs that came back and were forgotten again
	maxAttempts      = 10_000    // of one item; then it is held
	maxCarried       = 8         // of one job that are carried out and still shown
	defaultOrderRows = 2_000     // rows that one commit changes for large orders
	maxHold          = 60 * time.Second
	claimHold        = 2 * time.Second  // most that a sync is held of a host whose name is claimed
	listenStep       = time.Second      // most that one tick counts as time of listening
	protectedAfter   = 3                // preemptions after which an item is never stopped again, only drained
	farmLockWait     = 15 * time.Minute // of the farm's own lock of a host …
	farmLockMost     = 4 * time.Hour    // … and its longest, after locks without an item done between
	fullWait         = 5 * time.Second  // after an agent's refusal for want of memory
	maxNameRunes     = 255
	maxCPUs          = 1_000_000
)
