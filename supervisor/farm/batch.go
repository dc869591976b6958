package farm

import "time"

// Batch is what must be made durable, in this order, and what may be said afterwards.
type Batch struct {
	Writes  []Write
	Replies []Reply
}

// Write is one change of the rows. The set is closed; every write names the state it expects and the
// commit fails, ending the term, if a row is not as expected.
type Write interface{ write() }

// PutJob writes a job's row; Version 1 inserts, any other expects Version-1.
type PutJob struct{ Job JobFacts }

// ChangeMarks takes marks of a job away, which must be as given, and adds others. No two of those that are then
// there begin at the same item.
type ChangeMarks struct {
	Job         JobID
	Remove, Add []Mark
}

// PutOrder writes the row of an order that is under way or waits: it is new if Fresh, else it has not gone beyond
// Order.Next.
type PutOrder struct {
	Order OrderFacts
	Fresh bool
}

// DropOrder deletes the row of an order that is carried out.
type DropOrder struct {
	Job    JobID
	Number int64
}

// StartAttempt inserts a running attempt.
type StartAttempt struct{ Attempt AttemptFacts }

// StopAttempt turns a live attempt, running or already stopping, into stopping. ReasonKilled means that its item is
// killed with it; any other, that the item may run again.
type StopAttempt struct {
	ID AttemptID
	Why
}

// LeaveAttempt notes on a running attempt why its instance goes at its end, by a person's order. Whether it
// does for another reason is worked out anew by each plan and has no row.
type LeaveAttempt struct {
	ID AttemptID
	Why
}

// RelabelAttempt changes the kind of a live attempt.
type RelabelAttempt struct {
	ID   AttemptID
	Kind Kind
}

// EndAttempt ends a live attempt. From is the state the row must be in.
type EndAttempt struct {
	ID       AttemptID
	From     AttemptState
	State    AttemptState
	Again    Again
	Why      // it ended otherwise than done; of one that is done, what is amiss
	ExitCode *int
	Signal   *int
	Wall     float64
	CPU      float64
	Peak     int64
	Charge   Charge
	Charged  bool
	EndedAt  time.Time
}

// ReopenAttempts lets ended items run again by a user's order: failed and killed become again=ByOrder,
// done becomes superseded. Each attempt named is the latest of its item.
type ReopenAttempts struct {
	Job      JobID
	Attempts []AttemptID
}

// PutHost inserts or updates a host's row.
type PutHost struct{ Host HostFacts }

// PutAnswer keeps what a change is answered, in the commit of the change, so that a repetition under the same key
// hears it again; a key that has an answer is not expected. The farm itself writes none.
type PutAnswer struct{ Answer AnswerFacts }

// AddAudit appends to the audit trail, in the commit of the change that it tells of. The farm itself writes none.
type AddAudit struct{ Audit AuditFacts }

// AddEvent appends to the history.
type AddEvent struct{ Event EventFacts }

func (PutJob) write()         {}
func (ChangeMarks) write()    {}
func (PutOrder) write()       {}
func (DropOrder) write()      {}
func (StartAttempt) write()   {}
func (StopAttempt) write()    {}
func (LeaveAttempt) write()   {}
func (RelabelAttempt) write() {}
func (EndAttempt) write()     {}
func (ReopenAttempts) write() {}
func (PutHost) write()        {}
func (PutAnswer) write()      {}
func (AddAudit) write()       {}
func (AddEvent) write()       {}

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
	Job     JobView
	Remarks []string
}

// ActionReply answers JobOrdered.
type ActionReply struct {
	Job      JobID
	Affected int   // items that the order applies to; of one that waits 0
	Done     int   // of these, those to which it was applied already
	Order    int64 // its number if it is under way or waits; 0: it is carried out
	Remarks  []string
}

// AgedReply answers JobsAged with those that the farm does not hold now.
type AgedReply struct{ Jobs []JobID }

// HostReply answers HostLocked and HostConfirmedDead.
type HostReply struct {
	Host     HostID
	Affected int
}

// PolicyReply answers PolicyChanged.
type PolicyReply struct{ Remarks []string }

// SyncReply is what should run on a host, complete.
type SyncReply struct {
	Host      HostID
	Sequence  uint64
	Lease     time.Duration // execution lease in full; the shell takes off the age of its last epoch check
	Grace     time.Duration
	Instances []DesiredInstance
	Specs     []JobFacts // of desired jobs whose current version the worker does not hold
}

// DesiredInstance is one line of it.
type DesiredInstance struct {
	Job      JobID
	Version  int64
	Instance int
	Kind     Kind
	Attempt  AttemptID
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
