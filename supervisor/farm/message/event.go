package message

import (
	"fmt"
	"time"

	"qb/agenda"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/job/licences"
)

// Event is one thing that happened. The set is closed.
type Event interface{ event() }

// JobSubmitted asks for a new job. Facts has no ID, Version, State or times: the farm gives them.
type JobSubmitted struct {
	Ticket  outbox.Ticket
	Facts   facts.JobFacts
	Agenda  *agenda.Agenda // of Facts.Agenda, read within Policy.MaxItems; nil: the farm reads it
	Blocked bool           // -status blocked
	By      string
	// Known is the job that an earlier call with the same Submission made, if the farm may no longer hold
	// it; 0 if there is none.
	Known facts.JobID
	// Links are the jobs named in the dependency that the farm may not hold any more, with their state;
	// a job that is in neither is unknown and the submission is refused.
	Links map[facts.JobID]facts.JobState
	// Labels are the jobs of the process group, in memory or not, that have the labels named in the dependency; LabelHas
	// is the member with this job's own, 0 if none has.
	Labels   map[string]facts.JobID
	LabelHas facts.JobID
	// Before are the other jobs of submissions whose last job is named, in memory or not.
	Before map[facts.JobID][]facts.JobID
	// Parents are the records of ended jobs whose items the dependency is on, if the farm may no longer hold them.
	Parents []*items.Prepared
	// Account is the owner as the supervisor's machine knows it; nil: not looked up.
	Account *fit.Account
	Groups  accounting.Groups // of the owner
}

// JobModified changes a job. The account can change only before the first item has started.
type JobModified struct {
	Ticket    outbox.Ticket
	Job       facts.JobID
	By        string
	IfVersion int64       // 0: any
	LabelHas  facts.JobID // that has the job's label in a new process group, as in JobSubmitted
	Operator  bool        // an operator or admin changes it
	Change    facts.JobChange
	Groups    accounting.Groups // of the job's owner, if the account is to change
}

// Bytes is what the texts of a change take.
func (e JobModified) Bytes() int64 { return e.Change.Values.Bytes() }

// JobAction is an action on a job. Record is given when the farm may no longer hold it (it ended);
// the farm takes it up again if it does not. It is the farm's from then on.
type JobAction struct {
	Ticket outbox.Ticket
	Job    facts.JobID
	Action facts.Action
	Items  []agenda.Span // by first item, no item twice; nil: all
	Choice Choice
	By     string
	// IfVersion refuses the order if the job has another version, except for that of its end by itself; 0: any.
	IfVersion int64
	Record    *items.Prepared
	// Everybody lets top and bottom order the job among those of all users, not its owner's alone.
	Everybody bool
	// Links, Labels, Before and Parents tell of the jobs that an ended job still waits for, as in JobSubmitted; an
	// order that lets it run again needs them.
	Links   map[facts.JobID]facts.JobState
	Labels  map[string]facts.JobID
	Before  map[facts.JobID][]facts.JobID
	Parents []*items.Prepared
}

// Choice chooses some of a job's items: those in a state, and the ones that instances run. Members that are nil choose
// all.
type Choice struct {
	States         []string      // of items, of those named or else of all; facts.ItemStates
	Instances      []agenda.Span // by number
	InstanceStates []string
}

// OfInstances says whether instances are chosen.
func (c Choice) OfInstances() bool { return c.Instances != nil || c.InstanceStates != nil }

// Given says whether there is a choice at all.
func (c Choice) Given() bool { return c.States != nil || c.OfInstances() }

// JobsAged takes final jobs out of memory, so that their rows can become daily sums beside the farm.
type JobsAged struct {
	Ticket outbox.Ticket
	Jobs   []facts.JobID
}

// HostLocked locks or unlocks a host, or locks some of its slots: what is locked keeps what runs and takes nothing new.
type HostLocked struct {
	Ticket   outbox.Ticket
	Host     facts.HostID
	Lock     bool
	Slots    int  // with Lock: so many of them are locked, whatever was locked before; 0: the whole host
	Purge    bool // with Lock: what runs on what is locked is stopped, to run elsewhere
	By       string
	LockedBy string // unlock only what this user has locked; "": what any user has
	Reason   string
}

// HostConfirmedDead is an operator's confirmation that nothing runs on the host any more.
type HostConfirmedDead struct {
	Ticket outbox.Ticket
	Host   facts.HostID
	By     string
}

// HostRemoved forgets a host. Dead is an admin's confirmation that nothing runs there any more.
type HostRemoved struct {
	Ticket outbox.Ticket
	Host   facts.HostID
	Dead   bool
	By     string
}

// BrakeReleased is an operator's confirmation that the silent hosts are dead.
type BrakeReleased struct {
	Ticket outbox.Ticket
	By     string
}

// WorkerSynced is a worker's report. See api.Sync for the meaning of the members.
type WorkerSynced struct {
	Ticket      outbox.Ticket
	Host        facts.HostFacts // as announced
	Incarnation string
	Sequence    uint64
	Heard       uint64 // number of the last answer that this incarnation took
	Available   int64  // bytes of memory, of the whole machine
	Total       int64  // the machine's, where the agent offers less of it than all; 0: Host.Memory
	Foreign     int64  // what programs other than the farm's items use
	Cap         int64  // most that it says to offer, of which Host.Memory is made; only looked at
	Reserve     int64  // of what is available, kept for others than the farm
	Swap        Swap
	Away        int    // slots that others than the farm take
	KeptFor     string // why, if not for their programs: as in api.Sync
	RunAs       string
	AgentUser   string
	Owners      *fit.Owners
	Cores       int // of the machine; 0: not said
	Refusing    string
	Jobs        map[facts.JobID]int64 // specifications held, by version
	Instances   []ReportedInstance
	Since       uint64 // of which sync Instances and Gone are the differences; 0: Instances is the complete list
	Gone        []facts.AttemptID
	Digest      string // of the complete list
	Differences bool   // may be in the answer
	Finished    []ReportedEnd
	Hold        time.Duration
	Usage       []licences.Report // of resources outside of the farm
	UsageNumber int64             // of the run that said so
	// Registers says that this incarnation has heard no answer of this term yet: it only asks what it should run.
	Registers bool
	// ReadOnly says, of a registration, that the term writes nothing: the host is there, more is not taken in.
	ReadOnly bool
	// Left says that no one waits for the answer any more. What it reports counts as ever.
	Left bool
}

// Word is the sync as one of its incarnation.
func (e WorkerSynced) Word() agents.Word {
	return agents.Word{Incarnation: e.Incarnation, Sequence: e.Sequence}
}

// ListWanted is why a sync with differences is refused.
func (e WorkerSynced) ListWanted() string {
	return fmt.Sprintf("sync %d of host %q has differences from sync %d, and this supervisor has no such list; send the complete list",
		e.Sequence, e.Host.ID, e.Since)
}

// Swap is of a machine, in bytes, and bytes a second.
type Swap struct{ Total, Used, Rate int64 }

// ReportedInstance is one line of a worker's list.
type ReportedInstance struct {
	Job      facts.JobID
	Instance int
	Attempt  facts.AttemptID
	State    string // starting, running, frozen, stopping, unkillable, idle, unknown
	Word     string // for State, as the worker says it, which counts for the digest
	Memory   int64
	Progress int // per cent; 0: not known
	// SuspensionID is the suspension under which its whole tree is frozen; 0: something of it may run.
	SuspensionID int64
}

// ReportedEnd is the end of one attempt.
type ReportedEnd struct {
	Attempt   facts.AttemptID
	Outcome   string // as in api.Finished
	ExitCode  *int
	Signal    *int
	Code      facts.Reason // "": an agent that gives none
	Reason    string       // for people
	Resource  string       // of code no_licence: of which there was none
	Wall      float64
	CPU       float64
	Peak      int64
	Limit     bool // outcome memory: it reached its own limit
	Suspended float64
	InLease   bool // by its host's clock
	Loaded    bool // its program is there for another item
	Found     facts.Found
}

// AccountsChanged is a person's change of accounts, shares or credit.
type AccountsChanged struct {
	Ticket outbox.Ticket
	Change accounting.Change
	By     string
}

// ProfileChanged is a person's change of a profile. Its reply is profiles.Known.
type ProfileChanged struct {
	Ticket outbox.Ticket
	Change profiles.Change
	By     string
}

// ResourceReported says how much of a resource of the whole farm others use. Its reply is licences.Status.
type ResourceReported struct {
	Ticket outbox.Ticket
	Report licences.Report
	By     string
}

// PolicyChanged puts another policy into force.
type PolicyChanged struct {
	Ticket outbox.Ticket
	Policy Policy
	By     string
}

// SyncLeft says that no one waits any more for the answer to a sync that was read.
type SyncLeft struct {
	Ticket outbox.Ticket
	Host   facts.HostFacts // as announced
}

// Ticked lets leases lapse and held syncs be answered. The shell sends one every 100 ms or so, and one before the first
// other event after a pause.
type Ticked struct {
	Unread time.Duration // for how long the oldest of the reports has waited that are not read yet
}

func (JobSubmitted) event()      {}
func (JobModified) event()       {}
func (JobAction) event()         {}
func (JobsAged) event()          {}
func (HostLocked) event()        {}
func (HostConfirmedDead) event() {}
func (HostRemoved) event()       {}
func (BrakeReleased) event()     {}
func (WorkerSynced) event()      {}
func (PolicyChanged) event()     {}

func (ResourceReported) event() {}
func (ProfileChanged) event()   {}
func (AccountsChanged) event()  {}
func (Ticked) event()           {}
func (SyncLeft) event()         {}
