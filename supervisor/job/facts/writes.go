package facts

import "time"

// Write is one change of the rows. The set is closed; every write names the state it expects and the
// commit fails, ending the term, if a row is not as expected.
type Write interface{ write() }

// PutJob writes a job's row; Version 1 inserts, any other expects Version-1.
type PutJob struct{ Job JobFacts }

// ChangeMarks takes marks of a job away, which must be as given, and adds others. No two of the ones that are then
// there begin at the same item.
type ChangeMarks struct {
	Job         JobID
	Remove, Add []Mark
}

// PutAction writes the row of an order that is under way or waits: it is new if Fresh, else it has not gone beyond
// Order.Next.
type PutAction struct {
	Order ActionFacts
	Fresh bool
}

// DropAction deletes the row of an order that is carried out.
type DropAction struct {
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

// SendAwayAttempt notes on a running attempt why its instance goes at its end, by a person's order. Whether it
// does for another reason is worked out again by each plan and has no row.
type SendAwayAttempt struct {
	ID AttemptID
	Why
}

// SuspendAttempt notes on a running attempt since when its processes are to stand still by order, or with a zero At
// that they go on, with all their slots. Seconds is for how long they did before, Released for how long others might
// have the slots.
type SuspendAttempt struct {
	ID       AttemptID
	At       time.Time
	Seconds  float64
	Released float64
}

// ReleaseAttempt notes on a suspended attempt since when others may have its slots, and since when it
// waits for slots to go on; zero: it does not. From is the suspension that the row states.
type ReleaseAttempt struct {
	ID       AttemptID
	From     Suspension
	At       time.Time
	Resuming time.Time
}

// RelabelAttempt changes the kind of a live attempt.
type RelabelAttempt struct {
	ID   AttemptID
	Kind Kind
}

// EndAttempt ends a live attempt. From is the state the row must be in.
type EndAttempt struct {
	ID        AttemptID
	Instance  int    // for the stream of events; the row has it
	Host      HostID // the same
	From      AttemptState
	State     AttemptState
	Again     RunsAgain
	Why       // it ended otherwise than done; of a done attempt, what is amiss
	ExitCode  *int
	Signal    *int
	Wall      float64
	Suspended float64 // seconds
	Released  float64 // of those, seconds for which others might have its slots
	CPU       float64
	Peak      int64
	Charge    Charge
	Charged   bool
	StartedAt time.Time // of an attempt that was given ahead, when its item began; else zero
	EndedAt   time.Time
	Found     Found // a row of its own, if there is any
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
// hears it again; a key that has an answer is not expected. Package term adds this write; the farm's
// state machine never does.
type PutAnswer struct{ Answer AnswerFacts }

// AddAudit appends to the audit trail, in the commit of the change that it describes. Package term adds this write; the
// farm's state machine never does.
type AddAudit struct{ Audit AuditFacts }

// NoteChange stores when jobs last changed, to the second, for clients that ask for changes since a time. Package term
// adds this write; the farm's state machine never does.
type NoteChange struct {
	Jobs []JobID
	At   time.Time
}

// AddMail adds a mail that is to be sent, in the commit of the end that it tells of.
type AddMail struct{ Mail MailFacts }

// AddEvent appends to the history.
type AddEvent struct{ Event EventFacts }

// RenameHost gives a host's row and its live attempts another name.
type RenameHost struct {
	From HostID
	To   HostFacts
}

// ForgetHost deletes a host's row.
type ForgetHost struct{ Host HostID }

// ChargeUsage writes a payer's row as it is after the ends of the same batch.
type ChargeUsage struct{ Usage UsageFacts }

// PutShare inserts or updates a place's row.
type PutShare struct{ Share ShareFacts }

// AddCredit inserts a row of credit.
type AddCredit struct{ Credit CreditFacts }

// PutAccount inserts or updates an account's row.
type PutAccount struct{ Account AccountFacts }

// DropAccount deletes an account's row.
type DropAccount struct{ Path string }

// PutBudget inserts or updates a budget's row.
type PutBudget struct{ Budget BudgetFacts }

// DropBudget deletes a budget's row.
type DropBudget struct{ Path string }

// PutPublication inserts or updates the row of a publication.
type PutPublication struct{ Publication PublicationFacts }

// PutProfile inserts or updates a profile's row.
type PutProfile struct{ Profile ProfileFacts }

// DropProfile deletes a profile's row.
type DropProfile struct{ Profile ProfileKey }

// PutResource inserts or updates a resource's row.
type PutResource struct{ Resource ResourceFacts }

// PutPromise says what answers that follow in this commit, or later, may promise.
type PutPromise struct{ Promise PromiseFacts }

func (PutJob) write()          {}
func (ChangeMarks) write()     {}
func (PutAction) write()       {}
func (DropAction) write()      {}
func (StartAttempt) write()    {}
func (StopAttempt) write()     {}
func (SendAwayAttempt) write() {}
func (SuspendAttempt) write()  {}
func (ReleaseAttempt) write()  {}
func (RelabelAttempt) write()  {}
func (EndAttempt) write()      {}
func (ReopenAttempts) write()  {}
func (PutHost) write()         {}
func (PutAnswer) write()       {}
func (AddAudit) write()        {}
func (NoteChange) write()      {}
func (AddMail) write()         {}
func (AddEvent) write()        {}
func (RenameHost) write()      {}
func (ForgetHost) write()      {}
func (ChargeUsage) write()     {}
func (PutShare) write()        {}
func (AddCredit) write()       {}
func (PutAccount) write()      {}
func (DropAccount) write()     {}
func (PutBudget) write()       {}
func (DropBudget) write()      {}
func (PutPublication) write()  {}
func (PutProfile) write()      {}
func (DropProfile) write()     {}
func (PutResource) write()     {}
func (PutPromise) write()      {}
