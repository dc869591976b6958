package farm

import (
	"time"

	"qb/supervisor/accounting"
	"qb/supervisor/agents"
	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/planner"
	"qb/supervisor/quota"
)

// View is the farm as listings show it: immutable, made now and then with what a commit makes durable, never ahead of
// the rows.
type View struct {
	At    time.Time
	Jobs  []facts.JobView // by ascending id; all that are not final and the most recent final ones
	Hosts []HostView      // by name

	Owners map[string]quota.Use // of unfinished jobs
	Counts Counts
	Brake  string // why nothing is moved from silent hosts now; "": the mass-failure brake is not engaged
}

// Part is what has changed of a view; a job or host that is nil is no longer in it.
type Part struct {
	Jobs  map[facts.JobID]*facts.JobView
	Hosts map[facts.HostID]*HostView
}

// HostView is a host with what runs on it.
type HostView struct {
	facts.HostFacts
	State     string // up, unreachable, lost, locked
	Used      int
	Available int64 // bytes of what the host offers that nobody has now
	Promised  int64
	PerIdle   int64        // what the ledger has for each idle slot
	Code      facts.Reason // of the remark
	Remark    string
	Claims    []agents.Claim // of its name, by others
	RunAs     string
	AgentUser string // the only owner served when RunAs is agent
	Instances []InstanceView
}

// InstanceView is one instance.
type InstanceView struct {
	Job         facts.JobID
	Number      int
	Kind        facts.Kind
	State       string // active, draining, stopping
	Attempt     facts.AttemptID
	ItemName    string
	Started     time.Time
	ItemStarted time.Time

	// What it holds of its host, and of the farm.
	Slots   int
	Memory  int64
	Holds   map[string]int64
	Devices []int
}

// Policy is what the site has configured for the farm.
type Policy struct {
	Fairshare       accounting.Policy
	Share           planner.SharePolicy
	Multifactor     accounting.Multifactor
	PrimaryPreempt  string // passive, aggressive, disabled: supervisor_preempt_policy
	DefaultPriority int
	MaxPriority     int
	DefaultCluster  string
	HostOrder       string           // of jobs that name none, as +host.memory.avail; "": none
	MaxItems        int              // of one job
	Resources       map[string]int64 // of the whole farm, as license.nuke
	Liveness        time.Duration
	ExecutionLease  time.Duration
	KillGrace       time.Duration
	LeaseMargin     time.Duration
	WallSlack       time.Duration // by which an end may claim to have run longer than since it was given; 0: any time
	MinRun          time.Duration
	Settle          time.Duration
	MaxLost         time.Duration // an item that would lose more is drained, not stopped; 0: no bound
	PlanDelay       time.Duration // least time between two plans
	CommitRows      int           // most rows of a commit, but for those of its last event; 0: commitRows
	Memory          items.MemoryPolicy
	CPUShare        CPUSharePolicy
	Limits          quota.Policy
	OrderRows       int     // rows that one commit changes for large orders; 0: 2,000
	TimeFactor      float64 // an item that runs so many times its estimate is told as slow; 0: none
}
