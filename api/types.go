package api

import "time"

// Job is one submission as every listing shows it.
type Job struct {
	ID               int64             `json:"id" doc:"Rises with each submission."`
	Name             string            `json:"name"`
	User             string            `json:"user"`
	Status           string            `json:"status" enum:"pending,blocked,running,suspended,complete,failed,killed"`
	Code             string            `json:"code" doc:"Why items wait, for programs; docs/codes.md lists them. Empty: none waits."`
	Params           *CodeParams       `json:"params,omitempty"`
	Reason           string            `json:"reason" doc:"One sentence when items wait, else empty."`
	Priority         int               `json:"priority" doc:"1 is best."`
	Cluster          string            `json:"cluster"`
	CPUs             int               `json:"cpus" doc:"Primary instances."`
	MaxCPUs          *int              `json:"max_cpus" doc:"As given; -1 for no limit, null if not given."`
	MaxCPUsEffective int               `json:"max_cpus_effective" doc:"The width that acts now."`
	Instances        InstanceCounts    `json:"instances"`
	Items            ItemCounts        `json:"items"`
	SubmittedAt      time.Time         `json:"submitted_at"`
	StartedAt        *time.Time        `json:"started_at"`
	FinishedAt       *time.Time        `json:"finished_at"`
	MeanItemSeconds  *float64          `json:"mean_item_seconds" doc:"Mean wall time of this job's complete items; null before the first."`
	EstimatedItem    *float64          `json:"estimated_item_seconds" doc:"What the next item is taken to run: the longest so far, or supervisor_cpu_share_quantile of them, and never less than the oldest running has run; null before the first result and when none is to come."`
	Type             string            `json:"type" enum:"cmdline,cmdrange"`
	Agenda           bool              `json:"agenda" doc:"False for a job without a range: it runs its command cpus times."`
	Range            string            `json:"range" doc:"Lists leave out one of more than 8 kB."`
	RetryWork        int               `json:"retrywork"`
	Dependency       string            `json:"dependency"`
	Cwd              string            `json:"cwd"`
	Command          []string          `json:"command" doc:"Shown to the owner and to operators, else empty; lists leave out one of more than 8 kB."`
	Account          string            `json:"account" doc:"Path of who pays, in the tree of shares; empty for none."`
	Tags             map[string]string `json:"tags" doc:"What reports can be divided by: prod_show, prod_seq, prod_shot, prod_dept, prod_client, prod_custom1 to prod_custom5, as far as set."`
	Version          int64             `json:"version" doc:"Rises with each change of the job; the entity tag."`
	Memory           JobMemory         `json:"memory"`
	TimeLimit        int               `json:"timelimit,omitempty" doc:"Seconds after which an instance is ended; 0: none."`
	AgendaTimeLimit  int               `json:"agendatimelimit,omitempty" doc:"Seconds after which an item fails; 0: none."`
	PGrp             int64             `json:"pgrp" doc:"Process group; the job's own id if not given."`

	Hosts        []string `json:"hosts" doc:"The only hosts allowed; none named: all."`
	OmitHosts    []string `json:"omithosts"`
	Groups       []string `json:"groups" doc:"A host must be in one of these; none named: any will do."`
	OmitGroups   []string `json:"omitgroups"`
	Requirements string   `json:"requirements"`
	Reservations string   `json:"reservations" doc:"What an instance takes, as given; empty: one slot."`
	Restrictions string   `json:"restrictions" doc:"Clusters of the only hosts allowed; empty: all."`
	HostOrder    string   `json:"hostorder" doc:"Preference among the hosts that fit; empty: supervisor_default_hostorder."`
	Flags        []string `json:"flags"`

	Orders []JobOrder `json:"orders" doc:"Large actions that are being carried out, or wait for one that is."`
}

// JobMemory is in bytes, of one instance.
type JobMemory struct {
	Requested   *int64 `json:"requested" doc:"As asked for in reservations; null: nothing."`
	Need        int64  `json:"need" doc:"What the next instance is promised; 0: nothing is known of it yet."`
	LargestPeak int64  `json:"largest_peak" doc:"Largest peak of an item so far."`
	Returned    int    `json:"returned" doc:"Complete items whose peaks count for the need."`
	RanOut      int    `json:"ran_out" doc:"Items that ran out of memory and are not complete; each is tried again with twice as much."`
}

// InstanceCounts are a job's running instances by kind. Draining ones are in neither of the others.
type InstanceCounts struct {
	Primary   int `json:"primary"`
	Secondary int `json:"secondary"`
	Draining  int `json:"draining"`
}

// ItemCounts are a job's items by state; they add up to Total.
type ItemCounts struct {
	Total    int `json:"total"`
	Pending  int `json:"pending"`
	Running  int `json:"running"`
	Complete int `json:"complete"`
	Failed   int `json:"failed"`
	Killed   int `json:"killed"`
	Blocked  int `json:"blocked"`
}

// Item is one agenda item with its latest attempt.
type Item struct {
	Name       string      `json:"name"`
	Number     int         `json:"number" doc:"From 0, in agenda order."`
	Status     string      `json:"status" enum:"pending,blocked,running,complete,failed,killed"`
	Attempt    int         `json:"attempt" doc:"0 before the first."`
	Kind       string      `json:"kind" enum:"primary,secondary,"`
	Host       *string     `json:"host"`
	Instance   *string     `json:"instance" doc:"JOB.N"`
	ExitCode   *int        `json:"exit_code"`
	Signal     *int        `json:"signal"`
	Code       string      `json:"code" doc:"Why, for programs; docs/codes.md lists them. Empty: there is nothing to say."`
	Params     *CodeParams `json:"params,omitempty"`
	Reason     string      `json:"reason" doc:"The same for people."`
	StartedAt  *time.Time  `json:"started_at"`
	FinishedAt *time.Time  `json:"finished_at"`
	CPUSeconds float64     `json:"cpu_seconds"`
	PeakMemory int64       `json:"peak_memory" doc:"Bytes, of the whole process tree."`
}

// Attempt is one try at one item.
type Attempt struct {
	Job        int64       `json:"job"`
	Item       string      `json:"item"`
	Number     int         `json:"number" doc:"The item's number."`
	Attempt    int         `json:"attempt" doc:"From 1."`
	State      string      `json:"state" enum:"running,stopping,done,failed,killed,preempted,lost,superseded"`
	Kind       string      `json:"kind" enum:"primary,secondary"`
	Host       string      `json:"host"`
	Instance   string      `json:"instance"`
	ExitCode   *int        `json:"exit_code"`
	Signal     *int        `json:"signal"`
	Code       string      `json:"code" doc:"Why, for programs; docs/codes.md lists them. Empty: there is nothing to say."`
	Params     *CodeParams `json:"params,omitempty"`
	Reason     string      `json:"reason" doc:"The same for people."`
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt *time.Time  `json:"finished_at"`
	CPUSeconds float64     `json:"cpu_seconds"`
	PeakMemory int64       `json:"peak_memory"`
	Overuse    string      `json:"overuse,omitempty" doc:"Set if it used half as much processor time again as its slots give, such as: 30 cores on 1 slot."`
}

// Host is a worker's machine as listings show it.
type Host struct {
	Name       string            `json:"name"`
	State      string            `json:"state" enum:"up,unreachable,lost,locked"`
	Slots      SlotCounts        `json:"slots"`
	Memory     HostMemory        `json:"memory"`
	Cluster    string            `json:"cluster"`
	Groups     []string          `json:"groups"`
	Resources  map[string]int    `json:"resources"`
	Properties map[string]string `json:"properties"`
	Locked     bool              `json:"locked"`
	LastSeenAt time.Time         `json:"last_seen_at"`
	Instances  []HostInstance    `json:"instances"`
	Remark     string            `json:"remark,omitempty" doc:"What its agent reports and cannot be."`
	MachineID  string            `json:"machine_id" doc:"The first letters of its machine's id."`
	BootID     string            `json:"boot_id" doc:"Likewise of its boot's."`
	StateID    string            `json:"state_id" doc:"Likewise of its worker's state folder's."`
	Claims     []HostClaim       `json:"claims" doc:"Other workers that report this name, or have the key of this host's worker, and are refused."`
}

// HostClaim is a worker that reports the name of a host, or has its key, and is refused.
type HostClaim struct {
	Name      string    `json:"name" doc:"That it reports; another one than the host's if it has the host's key."`
	MachineID string    `json:"machine_id" doc:"Shortened, as the host's."`
	BootID    string    `json:"boot_id"`
	StateID   string    `json:"state_id"`
	Code      string    `json:"code" enum:"other-machine,other-key,other-boot,other-state-folder" doc:"In what it is not the host. other-machine is taken up when the host was silent for its execution lease and nothing is left on it; other-key when nothing is left on it and it was silent for 10 s; the others when it was silent for 10 s."`
	Text      string    `json:"text" doc:"The same in words, with the way out."`
	Since     time.Time `json:"since"`
}

// SlotCounts are a host's slots.
type SlotCounts struct {
	Total int `json:"total"`
	Used  int `json:"used"`
}

// HostMemory is in bytes.
type HostMemory struct {
	Total     int64 `json:"total" doc:"What the host offers: the machine's but for worker_memory_reserve, at most worker_memory."`
	Available int64 `json:"available" doc:"What of that nobody has now, neither an item nor anything else on the machine."`
	Promised  int64 `json:"promised" doc:"To live attempts; what they have of it already is not available any more."`
	PerIdle   int64 `json:"per_idle" doc:"What may still be promised to each idle slot: the available memory, less what is promised and not yet resident, over the idle slots."`
}

// HostInstance is one instance that runs on a host.
type HostInstance struct {
	Job  int64  `json:"job"`
	Kind string `json:"kind" enum:"primary,secondary"`
	Item string `json:"item"`

	Number   int              `json:"number" doc:"Of the item, from 0 in agenda order."`
	Attempt  int              `json:"attempt"`
	Instance int              `json:"instance" doc:"N of JOB.N."`
	Slots    int              `json:"slots"`
	Memory   int64            `json:"memory" doc:"Bytes promised to it."`
	Holds    map[string]int64 `json:"holds,omitempty" doc:"Other resources it holds, such as host.gpus or license.nuke."`
	Devices  []int            `json:"devices,omitempty" doc:"GPUs of the host that are its own."`
}

// SubmitRequest is a new job. Zero values take the site's defaults where the site has one.
type SubmitRequest struct {
	Name            string            `json:"name,omitempty" maxLength:"255"`
	User            string            `json:"user,omitempty" doc:"Differs from the caller only with the right to submit for others."`
	Command         []string          `json:"command" doc:"Program and arguments; tokens such as QB_FRAME_NUMBER are replaced in each."`
	Shell           bool              `json:"shell,omitempty" doc:"The command is one line for /bin/sh -c; replaced tokens are quoted."`
	Cwd             string            `json:"cwd,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Umask           *int              `json:"umask,omitempty"`
	Range           string            `json:"range,omitempty" doc:"Items, such as 1-100x5,200 or labels. Empty: the command runs cpus times."`
	Chunk           int               `json:"chunk,omitempty"`
	Partitions      int               `json:"partitions,omitempty"`
	Order           string            `json:"order,omitempty" enum:"ascend,reverse,binary"`
	Padding         int               `json:"padding,omitempty"`
	Priority        *int              `json:"priority,omitempty" doc:"1 is best, 1000000 the worst; one beyond supervisor_max_priority is taken as that."`
	CPUs            *int              `json:"cpus,omitempty" doc:"1 to 100000."`
	MaxCPUs         *int              `json:"max_cpus,omitempty" doc:"-1: no limit but the site's; 0: no SmartShare; else up to 100000."`
	Cluster         string            `json:"cluster,omitempty"`
	Dependency      string            `json:"dependency,omitempty" doc:"900, or link-complete-job-900, several joined by commas."`
	TimeLimit       int               `json:"timelimit,omitempty" doc:"Seconds after which an instance is ended and its item fails."`
	AgendaTimeLimit int               `json:"agendatimelimit,omitempty" doc:"Seconds after which an item is ended and fails."`
	RetryWork       *int              `json:"retrywork,omitempty" doc:"Automatic retries of a failed item; default 0."`
	Status          string            `json:"status,omitempty" enum:"pending,blocked"`

	Hosts        string            `json:"hosts,omitempty" doc:"Comma list of the only hosts allowed."`
	OmitHosts    string            `json:"omithosts,omitempty"`
	Groups       string            `json:"groups,omitempty"`
	OmitGroups   string            `json:"omitgroups,omitempty"`
	Requirements string            `json:"requirements,omitempty"`
	Reservations string            `json:"reservations,omitempty"`
	Restrictions string            `json:"restrictions,omitempty" doc:"Clusters of the only hosts allowed, joined by ||: /show, /show/* (one level below), /show/+ (all below)."`
	HostOrder    string            `json:"hostorder,omitempty" doc:"Preference among the hosts that fit: +host.memory.avail takes the most first, -NAME the least; several joined by commas."`
	Flags        []string          `json:"flags,omitempty"`
	Account      string            `json:"account,omitempty" doc:"Path of who pays, in the tree of shares, such as show/shot."`
	Tags         map[string]string `json:"tags,omitempty" doc:"What reports can be divided by: prod_show, prod_seq, prod_shot, prod_dept, prod_client, prod_custom1 to prod_custom5."`
}

// SubmitReply names the job and says what was changed on the way, such as a capped max_cpus.
type SubmitReply struct {
	Job     Job      `json:"job"`
	Remarks []string `json:"remarks"`
}

// ModifyRequest changes a job; members not given stay as they are.
type ModifyRequest struct {
	Name         *string `json:"name,omitempty"`
	Priority     *int    `json:"priority,omitempty"`
	CPUs         *int    `json:"cpus,omitempty"`
	MaxCPUs      *int    `json:"max_cpus,omitempty"`
	Cluster      *string `json:"cluster,omitempty"`
	Requirements *string `json:"requirements,omitempty"`
	Reservations *string `json:"reservations,omitempty"`
	Restrictions *string `json:"restrictions,omitempty"`
	HostOrder    *string `json:"hostorder,omitempty"`
	Hosts        *string `json:"hosts,omitempty"`
	OmitHosts    *string `json:"omithosts,omitempty"`
	Groups       *string `json:"groups,omitempty"`
	OmitGroups   *string `json:"omitgroups,omitempty"`
	Account      *string `json:"account,omitempty" doc:"Who pays, empty for none; only before the job's first item has started."`
	RetryWork    *int    `json:"retrywork,omitempty"`

	Tags map[string]string `json:"tags,omitempty" doc:"Tags to change, by name as in a submission; an empty value takes the tag away."`
}

// ActionRequest narrows an action (kill, retry, interrupt …; not block and unblock) to some of a job's items; empty
// means the whole job.
type ActionRequest struct {
	Items string `json:"items,omitempty" doc:"Item names, or ranges of them, as 25-29,40."`
}

// ActionReply counts what an action changes. A large action is answered when it is durable, and carried out in
// pieces after that.
type ActionReply struct {
	Job      int64    `json:"job"`
	Affected int      `json:"affected" doc:"Items, or 1 for a whole job, that it applies to; 0 while it waits for another action on the job."`
	Done     int      `json:"done" doc:"Of these, those that it has been applied to."`
	Order    int64    `json:"order" doc:"Its number among the job's orders if it is still to be carried out; 0: it is done."`
	Remarks  []string `json:"remarks"`
}

// JobOrder is an action that is carried out in pieces, or waits for one that is. The last few that are done are shown
// until the supervisor changes.
type JobOrder struct {
	Number   int64     `json:"number" doc:"Rises with each order on the job."`
	Action   string    `json:"action" enum:"kill,retry,requeue,redo,block,unblock,interrupt,preempt"`
	User     string    `json:"user" doc:"Who gave it."`
	At       time.Time `json:"at"`
	State    string    `json:"state" enum:"waiting,active,done"`
	Affected int       `json:"affected" doc:"Items that it applies to; 0 while it waits."`
	Done     int       `json:"done" doc:"Of these, those that it has been applied to."`
}

// HostReply answers a lock or unlock.
type HostReply struct {
	Host     string `json:"host"`
	Affected int    `json:"affected"`
}

// Event is one thing that happened, as the stream and the history show it.
type Event struct {
	At       time.Time   `json:"at"`
	Type     string      `json:"type"`
	Job      *int64      `json:"job"`
	Item     *string     `json:"item"`
	Instance *string     `json:"instance"`
	Host     *string     `json:"host"`
	Code     string      `json:"code" doc:"Why, for programs, where type does not say it; docs/codes.md lists them."`
	Params   *CodeParams `json:"params,omitempty"`
	Cause    string      `json:"cause" doc:"The same for people."`
}

// CodeParams are the parameters of a code, as far as it has them.
type CodeParams struct {
	By       string  `json:"by,omitempty" doc:"Whose order it was, or who blocked the job."`
	Host     string  `json:"host,omitempty" doc:"That is lost, or kept for a job."`
	Job      int64   `json:"job,omitempty" doc:"That gets the slot; of width_lowered the attempt's own."`
	User     string  `json:"user,omitempty" doc:"Of surplus_shared: the owner of that job."`
	Share    string  `json:"share,omitempty" doc:"How surplus slots are shared: equally, by_user or by_fairshare."`
	Outcome  string  `json:"outcome,omitempty" doc:"What a newer worker calls the end."`
	Resource string  `json:"resource,omitempty" doc:"That is used up."`
	Option   string  `json:"option,omitempty" doc:"The limit that was reached: timelimit or agendatimelimit."`
	Limit    int64   `json:"limit,omitempty" doc:"Of time_limit seconds, of memory_limit bytes, of width_lowered instances."`
	Earlier  bool    `json:"earlier,omitempty" doc:"The instance had run other items before, which count towards the limit."`
	Seconds  float64 `json:"seconds,omitempty" doc:"For which it ran."`
	Largest  int64   `json:"largest,omitempty" doc:"Bytes of the largest host that serves the job, where that is why it does not run again."`
	Offer    int64   `json:"offer,omitempty" doc:"Bytes that such a host can offer."`
}

// Ping says who answers.
type Ping struct {
	Version    string    `json:"version"`
	Leader     bool      `json:"leader"`
	Epoch      int64     `json:"epoch"`
	LeaderURL  string    `json:"leader_url" doc:"Address of the supervisor that leads; empty: not known."`
	Supervisor string    `json:"supervisor" doc:"Host name of the process that answers."`
	User       string    `json:"user" doc:"Whom the credential stands for."`
	Role       string    `json:"role"`
	Now        time.Time `json:"now"`
	Slots      int       `json:"slots"`
	Hosts      int       `json:"hosts"`
	Trouble    string    `json:"trouble" doc:"Why nothing can be changed now, such as a full disk of the database; empty: it can."`
	Brake      string    `json:"brake" doc:"Why nothing is moved from silent hosts now (the mass-failure brake); empty: it is not engaged."`
	Limits     []Limit   `json:"limits" doc:"Those of the caller that are nearly used up, or have refused him something in the last minutes."`
}

// Limit is one limit of a user.
type Limit struct {
	Limit   string `json:"limit" doc:"Its name, as a refusal has it, such as open-jobs."`
	Used    int64  `json:"used" doc:"Jobs or bytes; 0 of what is counted by the minute."`
	Most    int64  `json:"most" doc:"The value of its setting; 0: it has none."`
	Refused int    `json:"refused" doc:"Calls that it refused in the last minutes."`
	Text    string `json:"text" doc:"The same in a sentence."`
}

// TokenRequest asks for a new token.
type TokenRequest struct {
	User string `json:"user"`
	Role string `json:"role" enum:"admin,operator,user,read-only,worker"`
	Days int    `json:"days,omitempty" doc:"Life; default 90, or supervisor_token_days if that is less; at most supervisor_token_days."`
}

// RotateRequest asks for a token like one that is in use.
type RotateRequest struct {
	OverlapSeconds int `json:"overlap_seconds" minimum:"0" maximum:"7776000" doc:"How long the token before goes on."`
}

// TokenReply is the only answer that ever holds the secret.
type TokenReply struct {
	Token string `json:"token"`
	TokenInfo
}

// TokenInfo is what is known of a token.
type TokenInfo struct {
	ID        string     `json:"id"`
	User      string     `json:"user"`
	Role      string     `json:"role"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	LastUsed  *time.Time `json:"last_used_at"`
	Revoked   bool       `json:"revoked"`
}

// RevokeReply says what became of a token.
type RevokeReply struct {
	ID      string `json:"id"`
	Revoked bool   `json:"revoked"`
}

// Explanation says why a job's items wait.
type Explanation struct {
	Job    int64       `json:"job"`
	Code   string      `json:"code" doc:"Why, for programs; docs/codes.md lists them."`
	Params *CodeParams `json:"params,omitempty"`
	Reason string      `json:"reason" doc:"One sentence, empty if nothing waits."`
	Facts  []Fact      `json:"facts"`
}

// Fact is one line of an explanation.
type Fact struct {
	Kind string `json:"kind"`
	Code string `json:"code,omitempty" doc:"Of kind refused: why those hosts do not serve the job."`
	Text string `json:"text"`
}
