package farm

import (
	"time"

	"qb/supervisor/facts"
)

// Batch is what must be made durable, in this order, and what may be said afterwards.
type Batch struct {
	Writes  []facts.Write
	Replies []Reply
}

// Reply answers the request that holds the ticket. Exactly one of Err and Body is set.
type Reply struct {
	Ticket Ticket
	Body   any // JobReply, ActionReply, HostReply, SyncReply, PolicyReply
	Err    *Refusal
}

// Refusal is the user's mistake, in words that name the thing, the value and the way out.
type Refusal struct {
	Kind  string // one of the kinds of package api: not-found, invalid, conflict, forbidden, limit, unavailable
	Text  string
	Limit string        // of kind limit: which one
	Wait  time.Duration // until the request may succeed; 0: unknown
	Code  string        // upon which a worker acts; empty: none
}

func (r *Refusal) Error() string { return r.Text }

// JobReply answers JobSubmitted and JobModified.
type JobReply struct {
	Job     facts.JobView
	Remarks []string
}

// ActionReply answers JobOrdered.
type ActionReply struct {
	Job      facts.JobID
	Affected int   // items that the order applies to; of one that waits 0
	Done     int   // of these, those to which it was applied already
	Order    int64 // its number if it is under way or waits; 0: it is carried out
	Remarks  []string
}

// AgedReply answers JobsAged with those that the farm does not hold now.
type AgedReply struct{ Jobs []facts.JobID }

// HostReply answers HostLocked and HostConfirmedDead.
type HostReply struct {
	Host     facts.HostID
	Affected int
}

// PolicyReply answers PolicyChanged.
type PolicyReply struct{ Remarks []string }

// SyncReply is what should run on a host, complete.
type SyncReply struct {
	Host      facts.HostID
	Sequence  uint64
	Lease     time.Duration // execution lease in full; the shell takes off the age of its last epoch check
	Grace     time.Duration
	Instances []DesiredInstance
	Specs     []facts.JobFacts // of desired jobs whose current version the worker does not hold
}

// DesiredInstance is one line of it.
type DesiredInstance struct {
	Job      facts.JobID
	Version  int64
	Instance int
	Kind     facts.Kind
	Attempt  facts.AttemptID
	Slots    int
	Name     string // of the item
	Start    string
	End      string
	Step     string
	Env      map[string]string

	Memory    int64   // bytes promised
	HardLimit bool    // beyond them it is killed
	TimeLimit float64 // seconds; 0: none
}
