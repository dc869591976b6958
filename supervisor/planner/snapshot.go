package planner

import (
	"slices"

	"qb/smartshare"
	"qb/supervisor/facts"
)

// Snapshot is a farm at one moment, as Balance and `qb plan` see it: plain values, no pointers into
// the live farm. Times are seconds.
type Snapshot struct {
	Now     float64
	Cluster string // of the pool, for the order of jobs
	Policy  SharePolicy
	// Resources are what the whole farm has of such as licences, by name; those of hosts are with the hosts.
	Resources map[string]int64
	// Limits are how many instances the jobs that take one of the name may run together, by name.
	Limits  map[string]int64
	Hosts   []SnapHost // a snapshot with one pool has one host
	Jobs    []SnapJob
	Running []SnapInstance
}

// SharePolicy is the part of the policy that a balance needs.
type SharePolicy struct {
	Mode           string // jobs, users (the surplus by user, then by his jobs), none
	Preempt        string // aggressive, passive, disabled
	DefaultMaxCPUs int    // negative: no limit but MaxCPUsLimit
	MaxCPUsLimit   int
	ShareUnit      string // slots, instances
	Promote        bool
	Order          []string // of priority, cluster, fairshare, vtime, age, id, multifactor, operator, own_priority
	// DefaultPriority is the site's, beside which an operator's priority goes before or behind all, where the order has
	// the term operator.
	DefaultPriority int
}

// SnapHost is a host, or the whole pool.
type SnapHost struct {
	Name    string
	Slots   int
	Memory  int64 // bytes; negative: unlimited
	Tags    []string
	Cluster string
	Up      bool // false: keeps what runs, takes nothing new
	// Ending are slots still held by instances that are being stopped, which are not in Running. They
	// count as capacity, but starts that can be made at once go elsewhere first.
	Ending int
	// EndingMemory is what those hold, in bytes; it is in Memory, too.
	EndingMemory int64
	// Resources are what the host has of its own beside slots and memory, by name, such as host.gpus.
	Resources map[string]int64
}

// SnapJob is a job's demand.
type SnapJob struct {
	ID        string // shown; ties are broken by Num, then by ID
	Num       int64
	User      string
	Priority  int // facts.Elite: before all others
	Submit    int64
	Cluster   string
	CPUs      int
	MaxCPUs   *int // nil: site default; negative: no limit
	Remaining int  // unfinished items, running ones included; negative: no bound
	Agenda    bool
	Slots     int   // of one instance
	Memory    int64 // of an instance to come, in bytes
	// Takes are the resources that one instance takes, by name; host. begins those of its host. Of each limit that the job
	// is under it takes one.
	Takes map[string]int64
	// Eligible lists by index the hosts the job may use, after hosts, tags, requirements; nil: all.
	Eligible  []int
	Weight    float64
	Fairshare float64
	VTime     float64
	Points    float64 // of the multifactor order; the most first
	Global    int64   // order by hand among jobs of one cluster and priority, the least first
	Moved     bool    // its Submit is another job's of the user: they were exchanged by hand
	Operator  int     // the priority that an operator gave; 0: none
}

// SnapInstance is a running instance. Instances that are being stopped are not in the snapshot, yet
// their slots count: they come free as soon as their end is proven.
type SnapInstance struct {
	ID          string
	Job         int // index into Jobs
	Host        int // index into Hosts
	Started     float64
	ItemStarted float64 // meaningless unless HasItem
	LostWork    float64 // seconds that stopping it now would cost; 0: the time since ItemStarted
	Memory      int64   // that goes free with it, in bytes; 0: what its job asks for
	Kind        facts.Kind
	HasItem     bool
	Protected   bool // never stopped; a held floor
	Draining    bool // goes when its item has ended, by the last plan
}

// Plan is one settled balance.
type Plan struct {
	Jobs []JobPlan // in the order of Snapshot.Jobs
	// Starts in the order in which they should be made: primaries in dispatch order, then secondaries
	// lowest level first. Some may have to wait for a stop on their host.
	Starts   []PlannedStart
	Stop     []int // indices into Running: to stop (aggressive) or to drain (passive), cheapest first
	Promoted []int
	Demoted  []int
	Leaving  []int // instances beyond the agenda
	Order    []int // indices into Jobs, in dispatch order
	Free     int   // slots left free
	FreeOn   []int // likewise, by host
	LostWork float64
	// Immediate is, under passive preemption, what holds before any drain has ended.
	Immediate []JobCounts
}

// JobCounts are primaries and secondaries.
type JobCounts struct{ Primary, Secondary int }

// JobPlan is a job's target.
type JobPlan struct {
	JobCounts
	Floor, Ceiling               int
	StartPrimary, StartSecondary int
	Stop                         int
	Unplaced                     int // primaries that found no host
}

// PlannedStart is one instance to start.
type PlannedStart struct {
	Job  int
	Kind facts.Kind
	Host int
}

// ByPoints says whether jobs are ordered by the weighted sum of their factors.
func (p SharePolicy) ByPoints() bool { return slices.Contains(p.Order, "multifactor") }

// ByOwner says whether fairshare ranks the owners of jobs, and their priorities only each owner's own jobs.
func (p SharePolicy) ByOwner() bool { return slices.Contains(p.Order, smartshare.ByOwn.String()) }

// Turn is what the next slots go by.
func (p SharePolicy) Turn() string {
	switch {
	case p.ByPoints():
		return "in order of points"
	case p.ByOwner():
		return "in order of the owners' fairshare"
	}
	return "in order of priority"
}
