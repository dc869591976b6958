package planner

import (
	"maps"
	"reflect"
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/facts"
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
	// What follows is what the choice of hosts goes by beside all that. A snapshot that does not say is taken at its word:
	// what is not running is free.
	Present  []Present            // by host
	Left     map[string]int64     // of the farm's Resources and Limits
	Coming   map[string]int64     // of them: what is held by instances that end whatever the plan says
	Urgent   bool                 // it is for a person's change, which no delay holds up
	Orders   map[string]HostOrder // preferences among hosts, by the name that a job has for its own
	Reserved *Reserved            // the host that the last plan keeps for a job
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
	// Placement is which of several hosts gets a start where memory is known: best_fit, spread, pack; "": the host that
	// the division has it on.
	Placement string
	// DefaultMemory is the most that an instance is promised of which nothing is known, in bytes.
	DefaultMemory int64
	// MinRun, Settle and MaxLost are about stops that only level secondaries: how long an instance runs before one, and a
	// job is left alone after one, and for how much work an instance ends after its item instead. In seconds; 0: nothing
	// is held up.
	MinRun, Settle, MaxLost float64
	// PrimaryPreempt is how instances give way to waiting primaries of better priority: aggressive, passive; disabled or
	// "": not at all.
	PrimaryPreempt string
	// Reserve says that a host is kept for a job whose instances take several slots and fit nowhere.
	Reserve bool
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
	MaxCPUs   *int  // nil: site default; negative: no limit
	Remaining int   // unfinished items, running ones included; negative: no bound
	Slots     int   // of one instance
	Memory    int64 // of an instance to come, in bytes
	// Takes are the resources that one instance takes, by name; host. begins those of its host. Of each limit that the job
	// is under it takes one.
	Takes map[string]int64
	// Eligible lists by index the hosts the job may use, after hosts, tags, requirements; nil: all.
	Eligible []int
	// Narrowed says that Eligible lacks hosts where the job's instances may go on: it goes by seats, or by what runs.
	Narrowed  bool
	Weight    float64
	Fairshare float64
	VTime     float64
	Points    float64 // of the multifactor order; the most first
	Global    int64   // order by hand among jobs of one cluster and priority, the least first
	Operator  int     // the priority that an operator gave; 0: none
	Agenda    bool
	Moved     bool // its Submit is another job's of the user: they were exchanged by hand
	// What follows is for the choice of hosts.
	Barred      bool    // takes no further item, though it has some
	Unmeasured  bool    // what it needs of memory is not known: it is promised a slot's part of its host
	Alone       bool    // only on a host on which nothing runs
	Unknown     bool    // ItemSeconds is a guess: nothing is known of its items
	Beside      [2]bool // by kind: it may start on the reserved host
	Pending     int     // items that no instance has, where Present is known
	MostSlots   int     // that an instance takes where so many are free; 0: Slots; negative: all
	Order       string  // its preference among hosts; "": none
	ItemSeconds float64 // how long its items are expected to run
	Shrunk      float64 // when secondaries of it were stopped last; 0: never
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
	Stood       float64 // seconds for which its item was suspended
	Slots       int32   // that it takes; 0: what its job asks for
	Number      int32   // of its job's instances: of like ones the lowest gives way first
	Kind        facts.Kind
	HasItem     bool
	Protected   bool    // never stopped; a held floor
	Draining    bool    // goes when its item has ended, by the last plan
	Spared      bool    // never gives way to a primary of better priority
	Suspended   bool    // its item is frozen until a person resumes it
	Released    bool    // it has given back its slots meanwhile
	Expires     float64 // when it has run for its job's time limit; 0: never
	// Holds are what it has of resources and limits; nil: what its job takes.
	Holds map[string]int64
}

// Equal says whether two rows say the same.
func (r SnapInstance) Equal(other SnapInstance) bool {
	same := maps.Equal(r.Holds, other.Holds) && (r.Holds == nil) == (other.Holds == nil)
	r.Holds, other.Holds = nil, nil
	return same && reflect.DeepEqual(r, other)
}

// Plan is one settled balance.
type Plan struct {
	Jobs []JobPlan // in the order of Snapshot.Jobs
	// Starts in the order in which they should be made: primaries in dispatch order, then secondaries
	// lowest level first. Some may have to wait for a stop on their host.
	Starts    []PlannedStart
	Stop      []int         // indices into Running: to stop (aggressive) or to drain (passive), cheapest first
	Stops     []PlannedStop // how each of them is made
	Preempted []PlannedPreemption
	Yielded   map[int]int // by wide job: the host where others give way to it
	Reserved  *Reservation
	Follows   bool // another plan is to follow at once
	Promoted  []int
	Demoted   []int
	Leaving   []int // instances beyond the agenda
	Order     []int // indices into Jobs, in dispatch order
	Free      int   // slots left free
	freeOn    []int // also, by host
	LostWork  float64
	// Immediate is, under passive preemption, what holds before any drain has ended.
	Immediate []JobCounts
}

// Going are the instances that stop or drain, for whatever reason but want of items, by their indices in Running.
func (p *Plan) Going() []int {
	list := slices.Clone(p.Stop)
	for _, y := range p.Preempted {
		if !slices.Contains(p.Stop, y.Instance) {
			list = append(list, y.Instance)
		}
	}
	return list
}

// Counts are the targets of the jobs, once the ones that give way to primaries of better priority have gone and these
// have started.
func (p *Plan) Counts(running []SnapInstance) []JobCounts {
	counts := make([]JobCounts, len(p.Jobs))
	for j := range p.Jobs {
		counts[j] = p.Jobs[j].JobCounts
	}
	for _, y := range p.Preempted {
		in := &running[y.Instance]
		switch up, down := slices.Contains(p.Promoted, y.Instance), slices.Contains(p.Demoted, y.Instance); {
		case in.Kind == facts.Primary && !down || up:
			counts[in.Job].Primary--
		default:
			counts[in.Job].Secondary--
		}
		if _, wide := p.Yielded[y.For]; !wide && counts[y.For].Primary < p.Jobs[y.For].Floor {
			counts[y.For].Primary++
		}
	}
	for j := range p.Yielded {
		counts[j].Primary++
	}
	return counts
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
	Job   int
	Kind  facts.Kind
	Host  int
	Slots int // that it gets there, if it starts at once
	When  When
}

// When says whether a start can be made at once, or what it waits for.
type When int

// A start that waits may be made at the next plan. Each names the first thing that is missing.
const (
	Now When = iota
	AfterSlots
	AfterStock // of a resource or limit
	AfterMemory
	AfterReserved // its host is kept for another job
	AfterItems    // it waits for an item that an instance which is to stop has elsewhere, or for a budget
)

// String is "" for Now.
func (w When) String() string {
	return [...]string{"", "slots", "resource", "memory", "reserved", "item"}[w]
}

// byClusterFirst says whether the order begins with the cluster, so that each host ranks the jobs for itself.
func (p SharePolicy) byClusterFirst() bool {
	return len(p.Order) > 0 && p.Order[0] == smartshare.ByCluster.String()
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
