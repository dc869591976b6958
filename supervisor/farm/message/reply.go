package message

import (
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/licences"
)

// JobReply answers JobSubmitted and JobModified.
type JobReply struct {
	Job     facts.JobView
	Remarks []string
	Changed []facts.Changed // by a change of the job
}

// TrialReply is what the farm says of the jobs of a submission as if it had been accepted.
type TrialReply struct {
	Items   int
	Planned int // of its jobs a plan would look at: they are not blocked
	Remarks []string
	VTimes  map[int]float64 // by the place of other jobs in the snapshot: the virtual time that they would have beside it
}

// ActionReply answers JobAction.
type ActionReply struct {
	Job      facts.JobID
	Affected int           // items that the order applies to; of an action that waits 0
	Done     int           // of these, those to which it was applied already
	Order    int64         // its number if it is under way or waits; 0: it is carried out
	Version  int64         // of the job, after the order
	Items    []agenda.Span // the ones that it applies to; nil: the whole job, none, or too many pieces to be named
	Remarks  []string
}

// AgedReply answers JobsAged with the ones that the farm does not hold now.
type AgedReply struct{ Jobs []facts.JobID }

// HostReply answers HostLocked and HostConfirmedDead.
type HostReply struct {
	Host     facts.HostID
	Affected int
	Stopped  int           // items, of a host that was locked with Purge
	Running  int           // items that run to their end on a host that was locked whole
	Pending  int           // items that a removed host may still run, for which its removal waits …
	Wait     time.Duration // … for so long at most
}

// PolicyReply answers PolicyChanged.
type PolicyReply struct{ Remarks []string }

// SyncReply is what should run on a host: the complete list, or what differs from that of an earlier answer.
type SyncReply struct {
	Host      facts.HostID
	Sequence  uint64
	Number    uint64        // of this answer: see agents.FirstAnswer
	Lease     time.Duration // execution lease in full; the shell takes off the age of its last epoch check
	Grace     time.Duration
	Instances []DesiredInstance
	Specs     []facts.JobFacts // of desired jobs whose current version the worker does not hold
	Since     uint64           // number of the earlier answer; 0: Instances is the complete list
	Gone      []InstanceID     // since then
	Digest    string           // of the complete list, with Since
	// Differences says that the agent's next syncs may have them: the farm has its list.
	Differences bool
}

// InstanceID names an instance.
type InstanceID struct {
	Job      facts.JobID
	Instance int
}

// DesiredInstance is one line of a SyncReply.
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
	Suspended bool    // its processes stand still
	// SuspensionID is the number of the suspension, which the worker reports back once they all do.
	SuspensionID int64
	NoLicence    []licences.Sign
	// Program is the word for the program of a load-once job, when the attempt has ended; "": the attempt is to run.
	Program string
	Next    *NextItem // which the instance holds ahead; nil: none
}

// NextItem is the item that an instance begins by itself when it has done its present one.
type NextItem struct {
	Attempt facts.AttemptID
	Name    string
	Start   string
	End     string
	Step    string
}
