package supervisor

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/supervisor/farm"
)

// Config is the supervisor's part of qb.conf. Every key is flat, has a default that works and a sentence
// that explains it; secret values are not to be shown, and a restart is needed for some.
type Config struct {
	Listen           string   `toml:"supervisor_listen" restart:"true" doc:"Address for clients and workers. Only loopback until TLS comes; port 0 picks a free one."`
	Socket           string   `toml:"supervisor_socket" restart:"true" doc:"Unix socket on which local users need no token; empty: none."`
	State            string   `toml:"supervisor_state" restart:"true" doc:"Folder of the supervisor's own files; empty: the default state folder."`
	KeyFile          string   `toml:"supervisor_key_file" restart:"true" doc:"File with the farm's key, which signs terms and protects tokens; made at the first start, mode 0600. All supervisors of a farm need a copy of the same file. Empty: farm.key in supervisor_state."`
	LogPath          string   `toml:"supervisor_logpath" restart:"true" doc:"Folder of the items' output, GROUP/JOB/ITEM.ATTEMPT.log; empty: logs in supervisor_state."`
	DatabaseURL      string   `toml:"database_url" secret:"true" restart:"true" doc:"Postgres 15 or newer, as postgres://USER@HOST/NAME; empty: qb farm runs a private one. Several supervisors on one database are leader and standbys."`
	DatabaseBinDir   string   `toml:"database_bindir" restart:"true" doc:"Folder with initdb and postgres for the private Postgres; empty: the newest installed."`
	ShareMode        string   `toml:"supervisor_smart_share_mode" doc:"jobs: surplus slots are levelled over jobs; users: over users first, then over the jobs of each; none: no instance beyond cpus."`
	SharePreempt     string   `toml:"supervisor_smart_share_preempt_policy" doc:"How secondary instances give way: aggressive (at once), passive (at the item's end), disabled."`
	DefaultMaxCPUs   Width    `toml:"supervisor_default_max_cpus" doc:"max_cpus of jobs that do not say; \"*\" or -1: up to supervisor_max_cpus_limit; 0: no SmartShare."`
	MaxCPUsLimit     int      `toml:"supervisor_max_cpus_limit" doc:"No job grows wider than this; larger requests are capped, and told."`
	ShareUnit        string   `toml:"supervisor_smart_share_unit" doc:"What is levelled: slots or instances."`
	ShareMinRun      Duration `toml:"supervisor_smart_share_min_run" doc:"A secondary younger than this is not stopped for another job's secondary."`
	ShareSettle      Duration `toml:"supervisor_smart_share_settle" doc:"A job is asked to shrink at most once in this time, unless a primary waits."`
	ShareMaxLost     Duration `toml:"supervisor_smart_share_max_lost" doc:"Aggressive drains instead of stopping an item that would lose more than this; 0: no bound."`
	Fairshare        string   `toml:"supervisor_fairshare" doc:"order: past use ranks the jobs of equal priority; off: use is only counted. With priority 1 open to all (supervisor_highest_user_priority), it ranks little."`
	FairsharePE      string   `toml:"supervisor_fairshare_pe" doc:"What an instance counts for: sum of its parts of the farm's CPUs, memory, GPUs and scratch, or max, the largest part of its host."`
	FairshareRule    string   `toml:"supervisor_fairshare_rule" doc:"tree: 2^-(usage/share), with the account's part passed down; fair_tree: accounts are compared first."`
	FairshareHalf    Duration `toml:"supervisor_fairshare_half_life" doc:"Time in which past use counts half; 115h39m is a factor of 0.75 in 48 h. 0: never less."`
	DecayFactor      float64  `toml:"supervisor_fairshare_decay_factor" doc:"The half-life said otherwise: of past use this part, such as 0.75, is left after each supervisor_fairshare_decay_period. 0: supervisor_fairshare_half_life holds."`
	DecayPeriod      Duration `toml:"supervisor_fairshare_decay_period" doc:"Time to which supervisor_fairshare_decay_factor belongs, such as 48h; 0: none."`
	FairsharePay     bool     `toml:"supervisor_fairshare_charge_preempted" doc:"Whether owners pay for attempts that were preempted."`
	ShareWeights     string   `toml:"supervisor_smart_share_weights" doc:"fairshare: surplus slots follow the owners' factors, in eighths; off: all jobs weigh the same."`
	QueueAlgorithm   string   `toml:"supervisor_queue_algorithm" doc:"cluster: rank of the job's cluster on the host, then priority; priority: priority first everywhere; multifactor: points, a weighted sum of age, fairshare, priority and size."`
	PointsAge        float64  `toml:"supervisor_multifactor_age" doc:"Points of the order multifactor for a job's age, all of them from supervisor_multifactor_max_age on."`
	PointsFairshare  float64  `toml:"supervisor_multifactor_fairshare" doc:"Points times the owner's fairshare factor, whatever supervisor_fairshare says."`
	PointsPriority   float64  `toml:"supervisor_multifactor_priority" doc:"Points of priority 1; the worst priority has none, and between them they fall evenly."`
	PointsSize       float64  `toml:"supervisor_multifactor_size" doc:"Points times the part of the farm's slots that a job's cpus take; below 0 small jobs go first."`
	PointsMaxAge     Duration `toml:"supervisor_multifactor_max_age" doc:"Age, since its submission, from which on a job has all points of supervisor_multifactor_age."`
	Preempt          string   `toml:"supervisor_preempt_policy" doc:"Primaries of a strictly better priority take slots of worse ones: passive (at the item's end), aggressive, disabled."`
	DefaultPriority  int      `toml:"supervisor_default_priority" doc:"Priority of jobs that do not say; 1 is best."`
	HighestUser      int      `toml:"supervisor_highest_user_priority" doc:"Best priority that a user who is no operator may ask for."`
	MaxPriority      int      `toml:"supervisor_max_priority" doc:"Worst priority; larger numbers are clipped, and told."`
	DefaultCluster   string   `toml:"supervisor_default_cluster" doc:"Cluster of jobs that do not say."`
	DefaultHostOrder string   `toml:"supervisor_default_hostorder" doc:"Which host, among those that fit, jobs take that do not say: +PROPERTY the most first, -PROPERTY the least, as +host.memory.avail,-host.processors.used; empty: supervisor_placement decides."`
	Resources        string   `toml:"supervisor_global_resources" doc:"Counts of the whole farm that jobs may reserve, such as license.nuke=20,global.tape=2. Their surplus is shared like slots."`
	MaxItems         int      `toml:"supervisor_max_items" doc:"Most items of one job."`
	DefaultMemory    Size     `toml:"supervisor_default_memory" doc:"What an instance is promised while nothing is known of its job's memory, and never more than its slots' part of the host."`
	Placement        string   `toml:"supervisor_placement" doc:"Which host of those with enough memory: best_fit (the least that suffices), spread (the most), pack (the fewest free slots)."`
	MemoryQuantile   float64  `toml:"supervisor_memory_quantile" doc:"A job's need is this quantile of the peaks its items returned, from the 20th on; 1: the largest."`
	MemoryMargin     float64  `toml:"supervisor_memory_margin" doc:"The quantile is taken this many times; of no effect on the largest."`
	MemoryTrim       bool     `toml:"supervisor_memory_trim" doc:"What items returned may lower a job's own host.memory, by a third at most."`
	CPUShare         string   `toml:"supervisor_cpu_share" doc:"Among equal jobs that compete for slots the slot time served is equal: off, stride (exact), lottery (by chance, one over the item's length)."`
	CPUShareSeed     int64    `toml:"supervisor_cpu_share_seed" doc:"Of the lottery: the same seed and the same farm draw the same."`
	CPUShareQuantile float64  `toml:"supervisor_cpu_share_quantile" doc:"An item is taken to last this quantile of those that returned; 1: the longest."`
	TimeFactor       float64  `toml:"supervisor_time_factor" doc:"An item that runs this many times as long as its job's longest is told as slow; 0: none is."`
	ExecutionLease   Duration `toml:"supervisor_execution_lease" doc:"A host unheard this long has lost its items: they run elsewhere, and its own copies are frozen."`
	Liveness         Duration `toml:"supervisor_liveness" doc:"A host unheard this long is shown unreachable and gets nothing new."`
	HistoryDays      int      `toml:"supervisor_history_days" doc:"Days after a job's end from which on its attempts are kept as sums for each day, which ranks and reports go on counting; the job can no longer be retried then. 0: never."`
	JobRetention     Duration `toml:"supervisor_job_retention" doc:"A job that ended this long ago is removed, with its logs; its sums stay. Not shorter than supervisor_history_days; 0: never."`
	LogRetention     Duration `toml:"supervisor_log_retention" doc:"The output of a job's items is removed this long after the job's end; at least 1h. 0: never."`
	LogMinFree       Size     `toml:"supervisor_log_min_free" doc:"While less is free on the disk of supervisor_logpath (or less than a quarter of it, if that is smaller), output is removed early, of the jobs first that ended first; never of what runs. 0: never."`
	Users            string   `toml:"supervisor_users" doc:"Users, separated by commas, to whom the unix socket is open without a token, beside supervisor_groups; both empty: every user of the machine."`
	Groups           string   `toml:"supervisor_groups" doc:"Groups whose members may use the unix socket without a token."`
	TokenDays        int      `toml:"supervisor_token_days" doc:"Longest life of a token in days. Tokens that would live longer are shortened to it, and the log says so."`
	AuditDays        int      `toml:"supervisor_audit_days" doc:"Days that rows of the audit trail are kept, at least 30. 0: for ever."`
	UserJobs         int      `toml:"supervisor_user_jobs" doc:"Unfinished jobs of one user. 0: no limit."`
	UserBytes        Size     `toml:"supervisor_user_bytes" doc:"What one user's unfinished jobs take, commands and environments included. 0: no limit."`
	UserChoices      int      `toml:"supervisor_user_choices" doc:"Names of hosts and groups, patterns and comparisons by which one user's unfinished jobs choose hosts; what several jobs have alike counts once. 0: no limit."`
	UserStored       Size     `toml:"supervisor_user_stored" doc:"What all jobs of one user take in the database, those that have ended included, until supervisor_job_retention removes them. 0: no limit."`
	JobBytes         Size     `toml:"supervisor_job_bytes" doc:"Command, environment and lists of one job. 0: no limit but those of each part."`
	UserSubmissions  int      `toml:"supervisor_user_submissions" doc:"Jobs that one user submits in a minute, on average. 0: no limit."`
	UserBurst        int      `toml:"supervisor_user_burst" doc:"Jobs that one user may submit at once before supervisor_user_submissions slows him."`
	UserSubmitted    Size     `toml:"supervisor_user_submitted" doc:"Bytes of jobs, changes and orders that one user submits in a minute, on average; eight times as many at once. 0: no limit."`
	UserChanges      int      `toml:"supervisor_user_changes" doc:"Orders and changes of jobs that one user makes in a minute, on average; five times as many at once. 0: no limit."`
	TokenStreams     int      `toml:"supervisor_token_streams" doc:"Event streams that one token, or one user of the socket, holds open. 0: no limit."`
	TokenFollowed    int      `toml:"supervisor_token_followed_logs" doc:"Logs that one token, or one user of the socket, follows at a time. 0: no limit."`
	KillGrace        Duration `toml:"supervisor_kill_grace" doc:"Between TERM and KILL when an item is stopped."`
}

// DefaultConfig is what an empty qb.conf means.
func DefaultConfig() Config {
	return Config{
		Listen:           "127.0.0.1:50001",
		ShareMode:        "jobs",
		SharePreempt:     "aggressive",
		DefaultMaxCPUs:   -1,
		MaxCPUsLimit:     100,
		ShareUnit:        "slots",
		ShareMinRun:      Duration(10 * time.Second),
		ShareSettle:      Duration(2 * time.Second),
		Fairshare:        "off",
		FairsharePE:      "sum",
		FairshareRule:    "tree",
		FairshareHalf:    defaultHalfLife,
		ShareWeights:     "off",
		QueueAlgorithm:   "cluster",
		PointsAge:        1000,
		PointsFairshare:  10_000,
		PointsPriority:   10_000,
		PointsMaxAge:     Duration(7 * 24 * time.Hour),
		Preempt:          "passive",
		DefaultPriority:  9999,
		HighestUser:      1,
		MaxPriority:      9999,
		DefaultCluster:   "/",
		MaxItems:         1_000_000,
		DefaultMemory:    2 << 30,
		Placement:        "best_fit",
		MemoryQuantile:   1,
		MemoryMargin:     1.1,
		CPUShare:         "off",
		CPUShareSeed:     1,
		CPUShareQuantile: 1,
		TimeFactor:       3,
		HistoryDays:      90,
		LogMinFree:       1 << 30,
		ExecutionLease:   Duration(15 * time.Minute),
		Liveness:         Duration(30 * time.Second),
		KillGrace:        Duration(10 * time.Second),
		TokenDays:        tokenDays,
		AuditDays:        365,
		UserJobs:         10_000,
		UserBytes:        512 << 20,
		UserChoices:      20_000,
		UserStored:       10 << 30,
		JobBytes:         4 << 20,
		UserSubmissions:  600,
		UserBurst:        1000,
		UserSubmitted:    32 << 20,
		UserChanges:      1200,
		TokenStreams:     16,
		TokenFollowed:    64,
	}
}

// Validate tells every setting that cannot be, each with its key, value and way out.
func (c Config) Validate() error {
	var bad []error
	check := func(ok bool, key string, value any, wayOut string) {
		if !ok {
			bad = append(bad, fmt.Errorf("%s = %v: %s", key, value, wayOut))
		}
	}
	oneOf := func(key, value string, allowed ...string) {
		check(slices.Contains(allowed, value), key, fmt.Sprintf("%q", value), "use one of "+strings.Join(allowed, ", "))
	}
	between := func(key string, d, least, most Duration) {
		check(d >= least && d <= most, key, d, fmt.Sprintf("use %s to %s", least, most))
	}
	if err := checkListen(c.Listen); err != nil {
		bad = append(bad, err)
	}
	oneOf("supervisor_smart_share_mode", c.ShareMode, "jobs", "users", "none")
	oneOf("supervisor_smart_share_preempt_policy", c.SharePreempt, "aggressive", "passive", "disabled")
	oneOf("supervisor_smart_share_unit", c.ShareUnit, "slots", "instances")
	oneOf("supervisor_fairshare", c.Fairshare, "off", "order")
	oneOf("supervisor_fairshare_pe", c.FairsharePE, "sum", "max")
	oneOf("supervisor_fairshare_rule", c.FairshareRule, "tree", "fair_tree")
	oneOf("supervisor_smart_share_weights", c.ShareWeights, "off", "fairshare")
	between("supervisor_fairshare_half_life", c.FairshareHalf, 0, maxHalfLife)
	c.checkDecay(check)
	oneOf("supervisor_queue_algorithm", c.QueueAlgorithm, "cluster", "priority", "multifactor")
	c.checkMultifactor(check)
	between("supervisor_multifactor_max_age", c.PointsMaxAge, Duration(time.Second), Duration(10*365*24*time.Hour))
	oneOf("supervisor_preempt_policy", c.Preempt, "passive", "aggressive", "disabled")
	check(c.DefaultMaxCPUs <= maxCPUs, "supervisor_default_max_cpus", int(c.DefaultMaxCPUs), fmt.Sprintf("use \"*\" or 0 to %d", maxCPUs))
	check(c.MaxCPUsLimit >= 1 && c.MaxCPUsLimit <= maxCPUs, "supervisor_max_cpus_limit", c.MaxCPUsLimit, fmt.Sprintf("use 1 to %d", maxCPUs))
	check(c.MaxPriority >= 1 && c.MaxPriority <= maxPriority, "supervisor_max_priority", c.MaxPriority, fmt.Sprintf("use 1 to %d", maxPriority))
	check(c.DefaultPriority >= 1 && c.DefaultPriority <= c.MaxPriority, "supervisor_default_priority", c.DefaultPriority, "use 1 to supervisor_max_priority")
	check(c.HighestUser >= 1 && c.HighestUser <= c.MaxPriority, "supervisor_highest_user_priority", c.HighestUser, "use 1 to supervisor_max_priority")
	check(strings.HasPrefix(c.DefaultCluster, "/"), "supervisor_default_cluster", fmt.Sprintf("%q", c.DefaultCluster), "begin it with a slash")
	if err := farm.CheckHostOrder(c.DefaultHostOrder); err != nil {
		bad = append(bad, fmt.Errorf("supervisor_default_hostorder: %w", err))
	}
	if _, err := readResources(c.Resources); err != nil {
		bad = append(bad, err)
	}
	check(c.MaxItems >= 1 && c.MaxItems <= 10_000_000, "supervisor_max_items", c.MaxItems, "use 1 to 10000000")
	c.checkNeeds(check)
	c.checkHistory(check)
	c.checkLimits(check)
	between("supervisor_smart_share_min_run", c.ShareMinRun, 0, Duration(24*time.Hour))
	between("supervisor_smart_share_settle", c.ShareSettle, 0, Duration(time.Hour))
	between("supervisor_smart_share_max_lost", c.ShareMaxLost, 0, Duration(1000*time.Hour))
	between("supervisor_liveness", c.Liveness, Duration(time.Second), Duration(24*time.Hour))
	between("supervisor_execution_lease", c.ExecutionLease, Duration(5*time.Second), Duration(1000*time.Hour))
	between("supervisor_kill_grace", c.KillGrace, 0, Duration(time.Hour))
	check(c.ExecutionLease > c.Liveness, "supervisor_execution_lease", c.ExecutionLease, fmt.Sprintf("make it longer than supervisor_liveness = %s", c.Liveness))
	return errors.Join(bad...)
}

// checkListen refuses what is not loopback: without TLS a token would cross the network in the clear.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("supervisor_listen = %q: write HOST:PORT, such as 127.0.0.1:50001", address)
	}
	if host == "localhost" {
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return fmt.Errorf("supervisor_listen = %q: qb serves one machine until TLS comes; use 127.0.0.1:%s", address, port)
	}
	return nil
}

// logFolder is where the items' output is kept.
func (c Config) logFolder() string {
	if c.LogPath != "" || c.State == "" {
		return c.LogPath
	}
	return filepath.Join(c.State, "logs")
}

// readResources reads NAME=COUNT pairs; the names are license.… and global.….
func readResources(text string) (map[string]int64, error) {
	all := map[string]int64{}
	for _, pair := range splitList(text) {
		name, amount, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		n, err := strconv.ParseInt(strings.TrimSpace(amount), 10, 64)
		class, short, _ := strings.Cut(name, ".")
		if err != nil || n < 0 || short == "" || (class != "license" && class != "global") {
			return nil, fmt.Errorf("supervisor_global_resources: %q is no count; write license.NAME=NUMBER or global.NAME=NUMBER", pair)
		}
		all[name] = n
	}
	return all, nil
}

// Policy is the farm's part.
func (c Config) Policy() farm.Policy {
	resources, _ := readResources(c.Resources) // Validate has read them
	return farm.Policy{
		Resources: resources,
		Share: farm.SharePolicy{
			Mode: c.ShareMode, Preempt: c.SharePreempt, DefaultMaxCPUs: int(c.DefaultMaxCPUs),
			MaxCPUsLimit: c.MaxCPUsLimit, ShareUnit: c.ShareUnit, Promote: true, Order: c.order(),
		},
		Fairshare:       c.fairsharePolicy(),
		Multifactor:     c.multifactorPolicy(),
		PrimaryPreempt:  c.Preempt,
		DefaultPriority: c.DefaultPriority,
		MaxPriority:     c.MaxPriority,
		DefaultCluster:  c.DefaultCluster,
		HostOrder:       c.DefaultHostOrder,
		MaxItems:        c.MaxItems,
		Liveness:        c.Liveness.Std(),
		ExecutionLease:  c.ExecutionLease.Std(),
		KillGrace:       c.KillGrace.Std(),
		LeaseMargin:     5 * time.Second, WallSlack: 2 * time.Second,
		MinRun:     c.ShareMinRun.Std(),
		MaxLost:    c.ShareMaxLost.Std(),
		Settle:     c.ShareSettle.Std(),
		PlanDelay:  50 * time.Millisecond,
		Memory:     c.memoryPolicy(),
		CPUShare:   c.cpuSharePolicy(),
		TimeFactor: c.TimeFactor,
		Limits:     farm.LimitPolicy{OpenJobs: c.UserJobs, OpenBytes: int64(c.UserBytes), Choices: c.UserChoices},
	}
}
