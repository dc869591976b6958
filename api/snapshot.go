package api

// SnapshotDoc is a farm at one moment, the input of `qb plan` and the output of `qb snapshot`. Times are
// seconds on one clock, memory is in bytes. Read one with ReadSnapshot, which knows the defaults and heeds the tags
// read (see snapshotReader) and among (the values that a text may have).
type SnapshotDoc struct {
	Now     float64        `json:"now"`
	Slots   *int           `json:"slots,omitempty" doc:"One pool; or hosts."`
	Hosts   []SnapshotHost `json:"hosts,omitempty"`
	Cluster string         `json:"cluster"`
	Policy  SnapshotPolicy `json:"policy"`
	// Resources are what the whole farm has of such as licences.
	Resources map[string]int64   `json:"resources,omitempty" doc:"Of the whole farm, by name, such as license.nuke."`
	Limits    map[string]int64   `json:"limits,omitempty" doc:"How many instances may run together of the jobs that take 1 of the name, such as user:ada."`
	Jobs      []SnapshotJob      `json:"jobs"`
	Running   []SnapshotInstance `json:"running"`
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
	// DefaultPriority is that of the site, for the term operator.
	DefaultPriority int `json:"default_priority" doc:"An operator's priority that is better puts a job before all others, a worse one behind, where order has operator."`
}

// SnapshotHost is one host; one that is not up keeps what runs and takes nothing new.
type SnapshotHost struct {
	Name    string   `json:"name" read:"required"`
	Slots   int      `json:"slots" read:"required"`
	Memory  *int64   `json:"memory,omitempty" doc:"Missing: unlimited."`
	Tags    []string `json:"tags"`
	Cluster string   `json:"cluster"`
	Up      bool     `json:"up"`
	// Resources are the host's own beside slots and memory.
	Resources map[string]int64 `json:"resources,omitempty" doc:"By name, such as host.gpus."`
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
	VTime     float64  `json:"vtime"`
	Points    float64  `json:"points,omitempty" read:"signed" doc:"Points of the order multifactor; most points go first."`
	Global    int64    `json:"global_order,omitempty" read:"signed" doc:"Order by hand among jobs of the cluster and priority, the least first."`
	Moved     bool     `json:"moved,omitempty" doc:"It has exchanged submit with another job of the user by hand."`
	Operator  int      `json:"operator_priority,omitempty" doc:"The priority that an operator gave; 0: none."`
	// Resources are what one instance takes, of its host where the name begins with host., else of the farm.
	Resources map[string]int64 `json:"resources,omitempty" doc:"Reserved per instance, by name: host.NAME of its host, other names of the farm, or of limits."`
}

// SnapshotInstance is one running instance. Host is empty where there is one pool.
type SnapshotInstance struct {
	ID          string   `json:"id" read:"required"`
	Job         string   `json:"job" read:"required"`
	Kind        string   `json:"kind" among:"primary, secondary"`
	Host        string   `json:"host"`
	Started     float64  `json:"started"`
	ItemStarted *float64 `json:"item_started" doc:"null: it has no item."`
	LostWork    *float64 `json:"lost_work,omitempty" doc:"May replace item_started."`
	Protected   bool     `json:"protected,omitempty" doc:"Never stopped; a held floor."`
	Draining    bool     `json:"draining,omitempty" doc:"It goes when its item has ended, by the last plan."`
	Memory      *int64   `json:"memory,omitempty" doc:"Memory promised to it or used by it; missing or 0: the job's request."`
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
	// Immediate is there under passive preemption: primaries and secondaries before any drain has ended.
	Immediate map[string][2]int `json:"immediate,omitempty"`
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
