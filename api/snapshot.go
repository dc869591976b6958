package api

// SnapshotDoc is a farm at one moment, the input of `qb plan` and the output of `qb snapshot`. Times are
// seconds on one clock, memory is in bytes. Read one with ReadSnapshot, which knows the defaults and heeds the tags
// read (see snapshotReader) and among (the values that a text may have).
type SnapshotDoc struct {
	Now     float64        `json:"now"`
	Slots   *int           `json:"slots,omitempty" doc:"One pool; or hosts."`
	Hosts   []SnapshotHost `json:"hosts,omitzero"`
	Cluster string         `json:"cluster"`
	Policy  SnapshotPolicy `json:"policy"`
	// Resources are what the whole farm has of such as licences.
	Resources map[string]int64   `json:"resources,omitempty" doc:"Of the whole farm, by name, such as license.nuke."`
	Limits    map[string]int64   `json:"limits,omitempty" doc:"How many instances may run together of the jobs that take 1 of the name, such as user:ada."`
	Jobs      []SnapshotJob      `json:"jobs"`
	Running   []SnapshotInstance `json:"running"`
	// What follows is for the choice of hosts. Without it what is not running is free.
	Left     map[string]int64  `json:"left,omitempty" read:"signed" doc:"What is left now of resources and limits, where hosts say what is present."`
	Coming   map[string]int64  `json:"coming,omitempty" doc:"What of these is held by instances that end whatever the plan says."`
	Urgent   bool              `json:"urgent,omitempty" doc:"The plan is for a person's change: min_run and settle hold nothing up."`
	Orders   []SnapshotOrder   `json:"orders,omitempty" doc:"Preferences among hosts, which jobs name."`
	Reserved *SnapshotReserved `json:"reserved,omitempty" doc:"The host that is kept for a job which finds no room."`
}

// SnapshotOrder is a preference among hosts, the most important term first.
type SnapshotOrder struct {
	Name  string              `json:"name" read:"required"`
	Terms []SnapshotOrderTerm `json:"terms"`
}

// SnapshotOrderTerm is a property by which hosts are ordered.
type SnapshotOrderTerm struct {
	More    bool                 `json:"more" doc:"A host with more of it is better; else one with less."`
	PerSlot int                  `json:"per_slot,omitempty" read:"signed" doc:"By how much it grows with each slot that is taken."`
	Values  []SnapshotOrderValue `json:"values" doc:"A host that is missing has no such property and comes last."`
}

// SnapshotOrderValue is a host's value of the property.
type SnapshotOrderValue struct {
	Host   string  `json:"host" read:"required"`
	Number float64 `json:"number,omitempty" read:"signed"`
	Text   string  `json:"text,omitempty"`
}

// SnapshotReserved is a host that is kept for a job.
type SnapshotReserved struct {
	Host string `json:"host" read:"required"`
	Job  string `json:"job" doc:"Empty: a job that is not among these."`
	// Sure and Primaries are as the plan that reserved it, and the farm since, know them.
	Sure      float64 `json:"not_before,omitempty" doc:"The job cannot start there before, as things are now."`
	Primaries int     `json:"primaries,omitempty" doc:"Primaries of the job when it got the host; it keeps it until it has more."`
}

// SnapshotPresent is what a host can take at the moment of the snapshot.
type SnapshotPresent struct {
	Free         int              `json:"free" read:"signed" doc:"Slots; negative where more are taken than offered."`
	Used         int              `json:"used" doc:"Slots that are taken."`
	Trial        bool             `json:"trial,omitempty" doc:"It takes one instance, and no other beside that."`
	Heard        bool             `json:"heard,omitempty" doc:"Its worker has spoken."`
	Limited      bool             `json:"limited,omitempty" doc:"Its memory is known and promised piece by piece."`
	Full         bool             `json:"full,omitempty" doc:"It takes nothing for now that is promised memory."`
	Machine      int              `json:"machine" doc:"Hosts with the same number share the memory of one machine."`
	Own          int64            `json:"own,omitempty" read:"signed" doc:"Bytes that may still be promised, of the host's part of the machine's memory."`
	Shared       int64            `json:"shared,omitempty" read:"signed" doc:"Bytes that may still be promised, of the machine's memory."`
	EndingSlots  int              `json:"ending_slots,omitempty" doc:"Slots of instances that end whatever the plan says."`
	EndingMemory int64            `json:"ending_memory,omitempty" doc:"Memory of these, in bytes."`
	Coming       map[string]int64 `json:"coming,omitempty" doc:"What comes free with these of the host's resources."`
	Ends         []SnapshotEnd    `json:"ends,omitempty" doc:"Instances on the host that running leaves out."`
	// Left is of resources.
	Left map[string]int64 `json:"left,omitempty" read:"signed" doc:"What is left of the host's resources, by name."`
}

// SnapshotEnd is when an instance that running leaves out gives back what it takes of its host.
type SnapshotEnd struct {
	At        float64          `json:"at" doc:"As its job's items run on average."`
	NotBefore float64          `json:"not_before" doc:"What nothing is known of may end at once."`
	Slots     int              `json:"slots,omitempty"`
	Holds     map[string]int64 `json:"holds,omitempty" doc:"Of the host's resources, by name."`
}

// SnapshotPolicy is what governs a balance.
type SnapshotPolicy struct {
	Mode           string   `json:"mode" among:"jobs, users, none"`
	Preempt        string   `json:"preempt" among:"aggressive, passive, disabled"`
	DefaultMaxCPUs int      `json:"default_max_cpus" read:"width"`
	MaxCPUsLimit   int      `json:"max_cpus_limit"`
	ShareUnit      string   `json:"share_unit" among:"slots, instances"`
	Promote        bool     `json:"promote"`
	Order          []string `json:"order" among:"priority, cluster, fairshare, vtime, age, id, multifactor, operator, own_priority"`
	// DefaultPriority is the site's default priority, for the order term operator.
	DefaultPriority int     `json:"default_priority" doc:"An operator's priority that is better puts a job before all others, a worse one behind, where order has operator."`
	Placement       string  `json:"placement,omitempty" among:"best_fit, spread, pack" doc:"Which of several hosts whose memory is known gets a start; missing: the one on which the division has it."`
	DefaultMemory   int64   `json:"default_memory,omitempty" doc:"The most that an instance is promised of which nothing is known, in bytes."`
	PrimaryPreempt  string  `json:"primary_preempt,omitempty" among:"aggressive, passive, disabled" doc:"How instances give way to waiting primaries of better priority; missing: not."`
	Reserve         bool    `json:"reserve,omitempty" doc:"A host is kept for a job whose instances take several slots and fit nowhere; missing: not."`
	MinRun          float64 `json:"min_run,omitempty" doc:"Seconds for which an instance runs before it is stopped to level secondaries."`
	Settle          float64 `json:"settle,omitempty" doc:"Seconds for which a job is left alone after such a stop."`
	MaxLost         float64 `json:"max_lost,omitempty" doc:"An instance that would lose more seconds ends after its item instead; 0: none."`
}

// SnapshotHost is one host; a host that is not up keeps what runs and takes nothing new.
type SnapshotHost struct {
	Name    string   `json:"name" read:"required"`
	Slots   int      `json:"slots" read:"required"`
	Memory  *int64   `json:"memory,omitempty" doc:"Missing: unlimited."`
	Tags    []string `json:"tags"`
	Cluster string   `json:"cluster"`
	Up      bool     `json:"up"`
	// Resources are the host's own beside slots and memory.
	Resources    map[string]int64 `json:"resources,omitempty" doc:"By name, such as host.gpus."`
	Ending       int              `json:"ending,omitempty" doc:"Slots of instances that are being stopped, which running leaves out."`
	EndingMemory int64            `json:"ending_memory,omitempty" doc:"Memory of these, in bytes."`
	Present      *SnapshotPresent `json:"present,omitempty" doc:"All hosts of a snapshot say it, or none."`
}

// SnapshotJob is one job's demand. Slots and Memory are one instance's; all Tags must be on a host.
type SnapshotJob struct {
	ID        string   `json:"id" read:"required"`
	User      string   `json:"user"`
	Priority  int      `json:"priority"`
	Submit    int64    `json:"submit"`
	Cluster   string   `json:"cluster"`
	CPUs      int      `json:"cpus" read:"required"`
	MaxCPUs   *int     `json:"max_cpus" read:"width" doc:"Counts primaries too; -1: no limit; null: the site's default."`
	Remaining *int     `json:"remaining" doc:"Unfinished items, running ones included; null: no bound."`
	Agenda    bool     `json:"agenda"`
	Slots     int      `json:"slots"`
	Memory    int64    `json:"memory"`
	Hosts     []string `json:"hosts" doc:"Names allowed; null: all."`
	Tags      []string `json:"tags"`
	Weight    float64  `json:"weight"`
	Fairshare float64  `json:"fairshare"`
	VTime     float64  `json:"vtime" read:"signed"`
	Points    float64  `json:"points,omitempty" read:"signed" doc:"Points of the order multifactor; most points go first."`
	Global    int64    `json:"global_order,omitempty" read:"signed" doc:"Order by hand among jobs of the cluster and priority, the least first."`
	Moved     bool     `json:"moved,omitempty" doc:"It has exchanged submit with another job of the user by hand."`
	Operator  int      `json:"operator_priority,omitempty" doc:"The priority that an operator gave; 0: none."`
	// Resources are what one instance takes, of its host where the name begins with host., else of the farm.
	Resources map[string]int64 `json:"resources,omitempty" doc:"Reserved per instance, by name: host.NAME of its host, other names of the farm, or of limits."`
	// What follows is for the choice of hosts.
	Narrowed    bool     `json:"narrowed,omitempty" doc:"Hosts lacks hosts where its instances may go on: it goes by seats of licences, or by what runs."`
	Pending     int      `json:"pending,omitempty" doc:"Items that no instance has, where hosts say what is present."`
	Barred      bool     `json:"barred,omitempty" doc:"It takes no further item, though it has some."`
	Unmeasured  bool     `json:"unmeasured,omitempty" doc:"What it needs of memory is not known."`
	MostSlots   int      `json:"most_slots,omitempty" read:"signed" doc:"Slots that an instance takes where so many are free; 0: slots; -1: all."`
	Alone       bool     `json:"alone,omitempty" doc:"Only on a host on which nothing runs."`
	HostOrder   string   `json:"host_order,omitempty" doc:"Name of its preference among hosts."`
	Beside      []string `json:"beside_reserved,omitempty" among:"primary, secondary" doc:"Kinds of its instances that may start on the reserved host."`
	ItemSeconds float64  `json:"item_seconds,omitempty" doc:"How long its items are expected to run."`
	Unknown     bool     `json:"item_unknown,omitempty" doc:"That is a guess: nothing is known of its items."`
	Shrunk      float64  `json:"shrunk,omitempty" doc:"When secondaries of it were stopped last; 0: never."`
}

// SnapshotInstance is one running instance. Host is empty where there is one pool.
type SnapshotInstance struct {
	ID          string           `json:"id" read:"required"`
	Job         string           `json:"job" read:"required"`
	Kind        string           `json:"kind" among:"primary, secondary"`
	Host        string           `json:"host"`
	Started     float64          `json:"started"`
	ItemStarted *float64         `json:"item_started" doc:"null: it has no item."`
	LostWork    *float64         `json:"lost_work,omitempty" doc:"May replace item_started."`
	Protected   bool             `json:"protected,omitempty" doc:"Never stopped; a held floor."`
	Draining    bool             `json:"draining,omitempty" doc:"It goes when its item has ended, by the last plan."`
	Memory      *int64           `json:"memory,omitempty" doc:"Memory promised to it or used by it; missing or 0: the job's request."`
	Slots       int              `json:"slots,omitempty" doc:"Slots that it takes; missing: what its job asks for."`
	Stood       float64          `json:"stood,omitempty" doc:"Seconds for which its item was suspended."`
	Number      int              `json:"number,omitempty" doc:"Of its job's instances: of like ones the lowest gives way first."`
	Spared      bool             `json:"spared,omitempty" doc:"It never gives way to a primary of better priority."`
	Suspended   bool             `json:"suspended,omitempty" doc:"Its item stands still until a person resumes it."`
	Released    bool             `json:"released,omitempty" doc:"It has given back its slots meanwhile."`
	Expires     float64          `json:"expires,omitempty" doc:"When it has run for its job's time limit; 0: never."`
	Holds       map[string]int64 `json:"holds,omitzero" doc:"What it has of resources and limits; missing: what its job takes."`
}

// BalanceDoc is the answer of `qb plan`: one settled balance.
type BalanceDoc struct {
	Jobs      map[string]BalanceJob `json:"jobs"`
	FreeSlots int                   `json:"free_slots"`
	Stop      []string              `json:"stop" doc:"Instances to stop or drain, cheapest first."`
	Promoted  []string              `json:"promoted"`
	Demoted   []string              `json:"demoted"`
	Leaving   []string              `json:"leaving" doc:"Instances beyond the agenda."`
	Order     []string              `json:"order" doc:"Jobs in dispatch order."`
	LostWork  float64               `json:"lost_work" doc:"Run time that the stops lose, in seconds; 0 if instances end after their items."`
	Starts    []BalanceStart        `json:"starts" doc:"In the order in which they are made."`
	Stops     []BalanceStop         `json:"stops" doc:"How each of stop is made, in the same order."`
	Preempted []BalancePreemption   `json:"preempted" doc:"Instances that give way to waiting primaries of better priority."`
	Closing   []BalanceClose        `json:"closing" doc:"Instances that the plan lets stay, and that take no other item when theirs has ended."`
	Reserved  *BalanceReserved      `json:"reserved,omitempty" doc:"The host that is kept for a job which fits nowhere; missing: none is."`
	// Immediate is there under passive preemption: primaries and secondaries before any drain has ended.
	Immediate map[string][2]int `json:"immediate,omitempty"`
}

// BalanceStart is an instance to start.
type BalanceStart struct {
	Job  string   `json:"job"`
	Kind string   `json:"kind" enum:"primary,secondary"`
	Host string   `json:"host"`
	At   *float64 `json:"at" doc:"null: not now; after says what it waits for."`
	// After is empty for a start that can be made now.
	After string `json:"after,omitempty" enum:"slots,resource,memory,reserved,item" doc:"What is missing now."`
}

// BalanceStop is how an instance gives its room back.
type BalanceStop struct {
	ID        string   `json:"id"`
	Why       string   `json:"why" enum:"width,limit,primary,surplus" doc:"Its job may not be as wide; a limit of instances; a primary waits; secondaries are levelled."`
	For       *string  `json:"for" doc:"The job that gets the room, if one does."`
	Drain     string   `json:"drain,omitempty" enum:"policy,item,lost" doc:"It ends after its item: by the policy, as that was preempted too often, or as too much work would be lost."`
	NotBefore *float64 `json:"not_before,omitempty" doc:"It is not stopped before."`
}

// BalancePreemption is an instance that gives way to a primary of better priority.
type BalancePreemption struct {
	ID    string `json:"id"`
	For   string `json:"for" doc:"The job that waits."`
	Drain bool   `json:"drain" doc:"It ends after its item."`
}

// BalanceClose is an instance that closes when its item ends.
type BalanceClose struct {
	ID  string `json:"id"`
	Why string `json:"why" enum:"released,protected,timelimit,host,slots,budget,limit,resource,refused,changed,reserved" doc:"The rule that ends it, as things are at now of the snapshot: slots were released; a protected item ends; the job's time limit; its host takes no work; has fewer slots than are taken; the budget is used up; a limit of instances; a resource; the host does not serve the job any longer, or there are too few seats of a licence; the job's request was changed; the host is reserved."`
}

// BalanceReserved is a host that is kept for a waiting primary.
type BalanceReserved struct {
	Job   string  `json:"job"`
	Kind  string  `json:"kind" enum:"primary"`
	Host  string  `json:"host"`
	Slots int     `json:"slots" doc:"How many it waits for there."`
	At    float64 `json:"at" doc:"When they will be free, as the items that run there end on average."`
}

// BalanceJob is one job's part of a balance.
type BalanceJob struct {
	Primary        int `json:"primary"`
	Secondary      int `json:"secondary"`
	Floor          int `json:"floor"`
	Ceiling        int `json:"ceiling"`
	StartPrimary   int `json:"start_primary"`
	StartSecondary int `json:"start_secondary"`
	Stop           int `json:"stop"`
}

// DefaultSnapshotPolicy is in force where a snapshot names none.
func DefaultSnapshotPolicy() SnapshotPolicy {
	return SnapshotPolicy{Mode: "jobs", Preempt: "aggressive", DefaultMaxCPUs: -1, MaxCPUsLimit: 100, ShareUnit: "slots",
		Promote: true, Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}, DefaultPriority: 9999}
}
