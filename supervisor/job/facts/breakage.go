package facts

import "time"

// Sender is where an event comes from that may break the farm's state.
type Sender struct {
	Kind  string // of the event, such as JobModified; plan: the supervisor's own work on a job
	Host  HostID // that reported; "": it is no worker's
	Job   JobID  // 0: none
	Owner string // the user who asked for it
}

// BreakageFacts is a sender whose events broke the farm's state.
type BreakageFacts struct {
	Sender
	Times int
	At    time.Time // the last time
	Cause string    // what the panic said then
}

// PutBreakage inserts or updates the row of a sender, and deletes those of more than two days before.
type PutBreakage struct{ Breakage BreakageFacts }

func (PutBreakage) write() {}

// BreakageKept is for how long the row of a sender is kept after the last time.
const BreakageKept = 48 * time.Hour
