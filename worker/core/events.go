package core

import (
	"time"

	"qb/api"
)

// Event is one thing that happened. The set is closed.
type Event interface{ event() }

// Booted comes first and once: what a former agent left on this boot. An instance whose attempt has
// ended is idle, and its record is in Finished unless it was let go before.
type Booted struct {
	Held      TermRecord
	Instances []Adopted
	Finished  []api.Finished
}

// Adopted is an instance found at the start.
type Adopted struct {
	Key     Key
	Attempt api.AttemptID
	State   string // as in api.SyncInstance
	Loaded  bool   // the program of a load-once job is there, whether it has an item or not
}

// ItemStarted says that the attempt's process runs.
type ItemStarted struct {
	Key     Key
	Attempt api.AttemptID
}

// ItemEnded says that the attempt's record is durable (or that its end means the same without), that nothing of its
// tree lives, and that its log has been shipped as far as was worth waiting for.
type ItemEnded struct {
	Key      Key
	Finished api.Finished
}

// ShimGone says that the instance's shim has ended and its lock is free. If its item had not ended, an
// ItemEnded with outcome lost came before.
type ShimGone struct{ Key Key }

// ShimUnreachable says that the shim lives, yet does not answer.
type ShimUnreachable struct{ Key Key }

// ShimReached says that a shim that did not answer does so again, and how it is.
// Awaited says that the attempt's ItemEnded is still to come.
type ShimReached struct {
	Adopted Adopted
	Awaited bool
}

// ShimMeasured reports the tree's resident bytes and seconds so far.
type ShimMeasured struct {
	Key    Key
	Memory int64
	CPU    float64
	Wall   float64
	// Progress is per cent; 0: not known.
	Progress int
	Frozen   bool
	// Suspended: it is frozen by order, and not only because its lease has ended.
	Suspended bool
	// SuspensionID is the suspension under which nothing of it runs; 0: something may.
	SuspensionID int64
	// Unkillable: what is left of the tree has outlived KILL for a while.
	Unkillable bool
	Held       bool // the kernel keeps it to its limit of memory
}

// HostMeasured reports the host's memory, and why it takes nothing new, if so.
type HostMeasured struct {
	Memory     api.SyncMemory // Foreign is reckoned here
	Others     int64          // bytes of items of other agents on the machine
	Refusing   string
	Between    bool      // a look between the regular ones
	Kept       KeptSlots // at regular looks, as what follows
	Swap       api.SyncSwap
	Busy       float64    // processors in use since the last regular look, by anybody
	OthersBusy float64    // by items of other agents
	Usage      *api.Usage // nil: nothing is known of licences outside of the farm
	Ended      []Key      // instances whose items have just ended, so that their memory is no longer among that used
}

// Answered is the answer to a sync.
type Answered struct {
	Sequence uint64
	Reply    api.SyncReply
}

// Configured tells what the worker says of itself from now on.
type Configured struct {
	Identity api.Sync
	Stress   Stress
}

// Unanswered says that a sync failed; Code is the refusal's, if it has one.
type Unanswered struct {
	Sequence uint64
	Code     string
}

// Closing ends all items, for the worker itself is being stopped.
type Closing struct{ Reason string }

// Ticked says only that time has passed.
type Ticked struct{}

func (Booted) event()          {}
func (ItemStarted) event()     {}
func (ItemEnded) event()       {}
func (ShimGone) event()        {}
func (ShimUnreachable) event() {}
func (ShimReached) event()     {}
func (ShimMeasured) event()    {}
func (HostMeasured) event()    {}
func (Answered) event()        {}
func (Unanswered) event()      {}
func (Configured) event()      {}
func (Closing) event()         {}
func (Ticked) event()          {}

// Command is one thing that the core wants done. The set is closed; orders are carried out in sequence
// as far as they concern the same instance.
type Command interface{ command() }

// Configure has the worker take what the supervisor's file sets; no sync goes until Configured.
type Configure struct{ Central api.Central }

// Restart has the worker start again, if its configuration is valid; if not, Configured brings the reason.
type Restart struct{ ID string }

// StartShim makes a new instance and hands it its first item.
type StartShim struct {
	Key   Key
	Item  Item
	Lease Moment
}

// HandItem gives the next item to an idle instance.
type HandItem struct {
	Key   Key
	Item  Item
	Lease Moment
}

// StopItem ends the attempt's whole tree: TERM, Grace, KILL. Reason goes into its record. With Close the
// shim ends after it by itself.
type StopItem struct {
	Key     Key
	Attempt api.AttemptID
	Grace   time.Duration
	Reason  string
	Code    string // in its record, of outcome stopped
	Outcome string // in its record; empty: stopped
	Limit   bool   // outcome memory: it was its own limit
	Close   bool
}

// CloseShim lets an idle shim end. The program that it keeps, if there is one, is answered with Status, and has
// Grace to end by itself; after that it is stopped.
type CloseShim struct {
	Key    Key
	Status string
	Grace  time.Duration
}

// AnswerProgram has an idle shim answer the requests of its program for an item with Status, until there is one.
type AnswerProgram struct {
	Key    Key
	Status string
}

// WriteLease sends a shim the time until when its tree may run.
type WriteLease struct {
	Key Key
	End Moment
}

// SuspendItem has the attempt's whole tree stand still, or go on.
type SuspendItem struct {
	Key          Key
	Attempt      api.AttemptID
	Suspended    bool
	SuspensionID int64 // number of the suspension
}

// Forget drops a record that has been acknowledged.
type Forget struct{ Attempt api.AttemptID }

// SendSync sends a sync.
type SendSync struct{ Sync api.Sync }

// GiveUpSync says that a later sync is sent without the answer to this one, which may still come. Overdue says that
// this supervisor has been silent for too long: it may be stopped while another leads, and no answer of its is looked
// at.
type GiveUpSync struct {
	Sequence uint64
	Overdue  bool
}

func (StartShim) command()     {}
func (Configure) command()     {}
func (Restart) command()       {}
func (HandItem) command()      {}
func (StopItem) command()      {}
func (CloseShim) command()     {}
func (AnswerProgram) command() {}
func (WriteLease) command()    {}
func (SuspendItem) command()   {}
func (Forget) command()        {}
func (SendSync) command()      {}
func (GiveUpSync) command()    {}
