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
	Reason           string            `json:"reason" doc:"Why items wait, or have failed, as one sentence; else empty."`
	Priority         int               `json:"priority" doc:"1 is the best."`
	Cluster          string            `json:"cluster"`
	CPUs             int               `json:"cpus" doc:"Number of primary instances."`
	MaxCPUs          *int              `json:"max_cpus" doc:"As given; -1 for no limit, null if not given."`
	MaxCPUsEffective int               `json:"max_cpus_effective" doc:"Effective limit of instances."`
	Instances        InstanceCounts    `json:"instances"`
	Items            ItemCounts        `json:"items"`
	FailedAttempts   int               `json:"failed_attempts" doc:"Attempts that failed, with those after which their item was tried again."`
	Progress         int               `json:"progress,omitempty" doc:"Complete items in per cent of all, with what running ones have reported by regex_progress."`
	SubmittedAt      time.Time         `json:"submitted_at"`
	StartedAt        *time.Time        `json:"started_at"`
	FinishedAt       *time.Time        `json:"finished_at"`
	MeanItemSeconds  *float64          `json:"mean_item_seconds" doc:"Mean wall time of this job's complete items; null before the first."`
	EstimatedItem    *float64          `json:"estimated_item_seconds" doc:"Expected run time of the next item: the longest so far, or their supervisor_cpu_share_quantile, before the first result time_estimate, and at least the run time of the oldest running item; null if nothing is known, and if no item is left."`
	Type             string            `json:"type" enum:"cmdline,cmdrange,loadonce" doc:"loadonce: the command is started once for each instance, and takes its items one after another."`
	Agenda           bool              `json:"agenda" doc:"False for a job without a range, which runs its command cpus times."`
	Range            string            `json:"range" doc:"Lists leave out one of more than 8 KiB."`
	RetryWork        int               `json:"retrywork"`
	PAgenda          string            `json:"p_agenda,omitempty" doc:"Items that became a job of their own, to be seen first."`
	PAgendaPriority  int               `json:"p_agenda_priority,omitempty" doc:"Priority that was asked for them."`
	PAgendaCPUs      int               `json:"p_agenda_cpus,omitempty" doc:"Number of instances that was asked for them."`
	Start            string            `json:"start,omitempty" doc:"Time in UTC before which nothing of the job starts."`
	RetryDelay       int               `json:"retrywork_delay,omitempty" doc:"Seconds from the failure of an item to its next attempt; 0: none."`
	RetryInstance    int               `json:"retrysubjob,omitempty" doc:"Number of automatic retries of an item that failed with its instance, if more than retrywork."`
	Timeout          int               `json:"timeout,omitempty" doc:"Seconds of an instance after which an event timeout reports it; 0: never."`
	AgendaTimeout    int               `json:"agenda_timeout,omitempty" doc:"Seconds of an item after which an event timeout reports it; 0: never."`
	Dependency       string            `json:"dependency"`
	Cwd              string            `json:"cwd"`
	Command          []string          `json:"command" doc:"Shown to the owner and to operators, else empty; lists leave out one of more than 8 KiB."`
	Account          string            `json:"account" doc:"Account to charge, a path in the share tree; empty: none."`
	Tags             map[string]string `json:"tags" doc:"Tags for reports that are set: prod_show, prod_seq, prod_shot, prod_dept, prod_client, prod_custom1 to prod_custom5."`
	Version          int64             `json:"version" doc:"Rises with each change of the job; the entity tag."`
	Memory           JobMemory         `json:"memory"`
	TimeLimit        int               `json:"timelimit,omitempty" doc:"Time limit of an instance in seconds; 0: none."`
	AgendaTimeLimit  int               `json:"agendatimelimit,omitempty" doc:"Time limit of an item in seconds, its preflights and postflights included; 0: none."`
	Profile          string            `json:"profile" doc:"Jobs of the user with the same one are taken to need alike; empty: none."`
	Learned          *Learned          `json:"learned,omitempty" doc:"What the job takes over from its profile while too few items of its own have returned; absent: nothing."`
	TimeEstimate     int               `json:"time_estimate,omitempty" doc:"Seconds that an item takes, as stated at the submission; 0: not stated."`
	PGrp             int64             `json:"pgrp" doc:"Process group: the id of its first job; the job's own id if not given."`
	Label            string            `json:"label" doc:"Name of the job within its process group."`
	Before           []int64           `json:"before,omitempty" doc:"Ids of the other jobs of a submission that became several, of its last job: links to that one and its label, a wait and its archive mean all of them."`
	Kind             string            `json:"kind" doc:"What jobs of one sort share; empty: none."`
	System           string            `json:"system" doc:"System whose paths and programs the job has; empty or any: hosts of all systems may run it."`
	PID              int64             `json:"pid" doc:"The job that it belongs to; 0: none."`
	Notes            string            `json:"notes"`
	MailAddress      []string          `json:"mailaddress" doc:"Addresses to which a mail goes when the job has ended. Empty: to its owner's, if it has the flag mail. Shown to the owner and to operators."`
	Security         string            `json:"security"`
	GlobalOrder      int64             `json:"globalorder" doc:"Order by hand among unfinished jobs of the cluster and priority, the least first; 0: none was given."`
	OperatorPriority int               `json:"operatorpriority" doc:"Priority that an operator or admin gave last, which goes before fairshare where that ranks owners; 0: none was given."`
	LocalOrder       int64             `json:"localorder" doc:"The job of the same user whose turn it has been given, as if it had been submitted then; 0: it has its own."`

	Hosts             []string `json:"hosts" doc:"Allowed hosts; empty: all."`
	OmitHosts         []string `json:"omithosts"`
	Groups            []string `json:"groups" doc:"Allowed host groups; empty: all."`
	OmitGroups        []string `json:"omitgroups"`
	Requirements      string   `json:"requirements"`
	Reservations      string   `json:"reservations" doc:"Reservations of an instance, as given; empty: one slot."`
	Restrictions      string   `json:"restrictions" doc:"Clusters of allowed hosts; empty: all."`
	Preflights        []string `json:"preflights" doc:"Commands that run before the first item of an instance; if one fails, its item does."`
	Postflights       []string `json:"postflights" doc:"Commands that run after the command of a job without range; if one fails, the item does."`
	AgendaPreflights  []string `json:"agenda_preflights" doc:"Commands that run before each item; if one fails, the item does."`
	AgendaPostflights []string `json:"agenda_postflights" doc:"Commands that run after each item, with QB_FRAME_STATUS and QB_SYSTEM_EXIT_CODE; if one fails, the item does."`
	RegexProgress     string   `json:"regex_progress" doc:"Regular expressions that find in a line of output how far an item is, one in each line."`
	RegexErrors       string   `json:"regex_errors" doc:"Regular expressions; an item with a line of output that matches one fails."`
	RegexHighlights   string   `json:"regex_highlights" doc:"Regular expressions; lines of output that match are kept with the attempt."`
	RegexOutputPaths  string   `json:"regex_outputpaths" doc:"Regular expressions that find in lines of output the paths of what an item has written."`
	PathMap           []string `json:"pathmap" doc:"Paths of who submitted the job with the same on its hosts, FROM=TO."`
	Validate          []string `json:"validate" doc:"Output files of each item, as PATH, PATH:SIZE, PATH:new or PATH:SIZE:new. If one is missing, smaller or, with :new, older than the attempt, the item fails. Tokens such as QB_FRAME_NUMBER are replaced."`
	HostOrder         string   `json:"hostorder" doc:"Preferred order of hosts; empty: supervisor_default_hostorder."`
	Flags             []string `json:"flags"`

	Orders []JobOrder `json:"orders" doc:"Orders that are being carried out or wait."`
}

// JobMemory is in bytes, of one instance.
type JobMemory struct {
	Requested   *int64 `json:"requested" doc:"As requested in reservations; null: not requested."`
	Need        int64  `json:"need" doc:"Memory promised to the next instance; 0: not known yet."`
	LargestPeak int64  `json:"largest_peak" doc:"Largest peak of an item so far."`
	Returned    int    `json:"returned" doc:"Number of complete items whose peaks count for the need."`
	RanOut      int    `json:"ran_out" doc:"Number of items that ran out of memory and are not complete; each runs again with twice as much."`
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
	Progress   int         `json:"progress,omitempty" doc:"Of a running item, in per cent, as its output said last (regex_progress)."`
	Kind       string      `json:"kind" enum:"primary,secondary,"`
	Host       *string     `json:"host"`
	Instance   *string     `json:"instance" doc:"JOB.N"`
	ExitCode   *int        `json:"exit_code"`
	Signal     *int        `json:"signal"`
	Code       string      `json:"code" doc:"The reason as a code, see docs/codes.md; empty: none."`
	Params     *CodeParams `json:"params,omitempty"`
	Reason     string      `json:"reason" doc:"The reason as a sentence, for people."`
	StartedAt  *time.Time  `json:"started_at"`
	FinishedAt *time.Time  `json:"finished_at"`
	CPUSeconds float64     `json:"cpu_seconds"`
	PeakMemory int64       `json:"peak_memory" doc:"Bytes, of the whole process tree."`

	SuspendedAt *time.Time `json:"suspended_at,omitempty" doc:"Since when its processes stand still by order; absent: they run."`
	ReleasedAt  *time.Time `json:"released_at,omitempty" doc:"Since when others may have its slots while it is suspended; absent: it has them."`
	ResumingAt  *time.Time `json:"resuming_at,omitempty" doc:"Since when it waits on its host for its slots, as it was resumed; absent: it does not."`

	FailedBefore *FailedBefore `json:"failed_before,omitempty" doc:"Failed attempts after which the item was tried again; absent: there was none."`
}

// FailedBefore is how attempts at an item failed after which it was tried again.
type FailedBefore struct {
	Attempts int    `json:"attempts" doc:"Number of these attempts."`
	Host     string `json:"host" doc:"Host of the last of them."`
	Code     string `json:"code" doc:"How the last of them failed, see docs/codes.md."`
	Reason   string `json:"reason" doc:"The same as a sentence."`
}

// Host is a worker's machine as listings show it.
type Host struct {
	Name       string            `json:"name"`
	State      string            `json:"state" enum:"up,unreachable,lost,locked,pending"`
	Slots      SlotCounts        `json:"slots"`
	Memory     HostMemory        `json:"memory"`
	Swap       HostSwap          `json:"swap"`
	Cluster    string            `json:"cluster"`
	Groups     []string          `json:"groups"`
	Resources  map[string]int    `json:"resources"`
	Properties map[string]string `json:"properties"`
	Locked     bool              `json:"locked"`
	LastSeenAt time.Time         `json:"last_seen_at"`
	Instances  []HostInstance    `json:"instances"`
	Code       string            `json:"code" doc:"Why there is a remark, see docs/codes.md; empty: there is none."`
	Remark     string            `json:"remark,omitempty" doc:"What is amiss with the host, as a sentence."`
	AvoidedBy  []HostAvoidance   `json:"avoided_by" doc:"Users, folders and jobs that get nothing on the host for a while, at most 20."`
	MachineID  string            `json:"machine_id" doc:"The first letters of the machine id."`
	BootID     string            `json:"boot_id" doc:"The first letters of the boot id."`
	StateID    string            `json:"state_id" doc:"The first letters of the id of the worker's state folder."`
	Claims     []HostClaim       `json:"claims" doc:"Other workers that report this name, or have the key of this host's worker, and are refused."`
}

// HostAvoidance is a user, a folder or a job that gets nothing on a host for a while, because of what happened there.
type HostAvoidance struct {
	User   string    `json:"user,omitempty" doc:"Whose items; with folder only those that run there."`
	Folder string    `json:"folder,omitempty" doc:"Working folder that is missing on the host, or closed to the user."`
	Job    int64     `json:"job,omitempty" doc:"Whose items."`
	Code   string    `json:"code" enum:"user_refused,failed_there,folder_missing,folder_denied,environment_failed" doc:"Why, see docs/codes.md."`
	Failed int       `json:"failed" doc:"Items that failed there; 0: they could not run there, or were migrated from there."`
	Until  time.Time `json:"until" doc:"When the host gets such items again."`
	Text   string    `json:"text" doc:"The same as a sentence."`
}

// HostClaim is a worker that reports the name of a host, or has its key, and is refused.
type HostClaim struct {
	Name      string    `json:"name" doc:"Name that it reports; it differs from the host's if it has the host's key."`
	MachineID string    `json:"machine_id" doc:"Shortened like the host's."`
	BootID    string    `json:"boot_id"`
	StateID   string    `json:"state_id"`
	Code      string    `json:"code" enum:"other-machine,other-key,other-boot,other-state-folder" doc:"In what it is not the host. other-machine is taken up when the host was silent for its execution lease and nothing is left on it; other-key when nothing is left on it and it was silent for 10 s; the others when it was silent for 10 s."`
	Text      string    `json:"text" doc:"The same as a sentence, with the remedy."`
	Since     time.Time `json:"since"`
}

// SlotCounts are a host's slots.
type SlotCounts struct {
	Total   int `json:"total"`
	Used    int `json:"used"`
	Foreign int `json:"foreign" doc:"Slots that are not offered: programs outside the farm use the host's processors (worker_foreign_cpu), they are kept for people (worker_calendar, worker_nimby) or locked."`
	Locked  int `json:"locked,omitempty" doc:"Slots that are locked, of a host that is not locked whole."`
}

// HostSwap is in bytes, as the worker reported it last.
type HostSwap struct {
	Total int64 `json:"total" doc:"Swap space of the machine; jobs may reserve it as host.swap."`
	Used  int64 `json:"used"`
	Rate  int64 `json:"rate" doc:"Bytes swapped in and out per second."`
}

// HostMemory is in bytes.
type HostMemory struct {
	Total     int64 `json:"total" doc:"Memory that the host offers: the machine's without worker_memory_reserve, at most worker_memory."`
	Available int64 `json:"available" doc:"Part of what the host offers that nobody uses now."`
	Promised  int64 `json:"promised" doc:"Memory promised to running attempts; what they already use of it is not available any more."`
	PerIdle   int64 `json:"per_idle" doc:"Memory that may still be promised per idle slot: the available memory, less what is promised and not yet resident, divided by the idle slots."`
}

// SubmitRequest is a new job. Zero values take the site's defaults where the site has one.
type SubmitRequest struct {
	Name            string            `json:"name,omitempty" maxLength:"255"`
	User            string            `json:"user,omitempty" doc:"Differs from the caller only with the right to submit for others."`
	Command         []string          `json:"command,omitempty" doc:"Program and arguments; tokens such as QB_FRAME_NUMBER are replaced in each."`
	Shell           bool              `json:"shell,omitempty" doc:"The command is one line for /bin/sh -c; replaced tokens are quoted."`
	Cwd             string            `json:"cwd,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Umask           *int              `json:"umask,omitempty"`
	Range           string            `json:"range,omitempty" doc:"Items, such as 1-100x5,200 or labels. Empty: the command runs cpus times."`
	Chunk           int               `json:"chunk,omitempty"`
	Partitions      int               `json:"partitions,omitempty"`
	Order           string            `json:"order,omitempty" enum:"ascend,reverse,binary"`
	Padding         int               `json:"padding,omitempty"`
	Priority        *int              `json:"priority,omitempty" doc:"1 is the best, 1000000 the worst; reduced to supervisor_max_priority."`
	CPUs            *int              `json:"cpus,omitempty" doc:"1 to 100000."`
	MaxCPUs         *int              `json:"max_cpus,omitempty" doc:"\"*\" or a negative number: only the site's limit; 0: no secondary instances; else up to 100000."`
	Cluster         string            `json:"cluster,omitempty"`
	PGrp            int               `json:"pgrp,omitempty" doc:"Process group: the id of its first job, which must be of the same user unless an operator asks. 0: a group of its own."`
	Label           string            `json:"label,omitempty" doc:"Name of the job within its process group, up to 255 characters without commas. It names one submission of its group, with all jobs that this becomes."`
	Kind            string            `json:"kind,omitempty" doc:"Name that jobs of one sort share, up to 255 characters without commas."`
	Type            string            `json:"type,omitempty" enum:",cmdline,cmdrange,loadonce" doc:"loadonce: the command is started once for each instance, and takes its items one after another over the socket that QB_WORK names. Empty: cmdrange with a range, else cmdline."`
	System          string            `json:"system,omitempty" doc:"System whose paths and programs the job has: linux, darwin (macOS) or windows. A host of another family (Windows; Linux and macOS) gets the job only if pathmap, or with the flag convert_path its own path map, has all paths of the command. Empty or any: hosts of all systems may run it."`
	PID             int               `json:"pid,omitempty" doc:"The job that it belongs to, which must exist; 0: none. It has no effect on when the job runs."`
	Notes           string            `json:"notes,omitempty" doc:"Text for people, up to 4096 bytes; shown to everybody."`
	MailAddress     []string          `json:"mailaddress,omitempty" doc:"Up to 10 addresses to which a mail goes when the job has ended. Empty: to the owner's, if the job has the flag mail."`
	Security        string            `json:"security,omitempty" doc:"What others than the owner may do, as group=vmk,others=v: v read the output, m change and order, k kill. Empty: as the farm's settings say."`
	Dependency      string            `json:"dependency,omitempty" doc:"900, or link-complete-job-900, several joined by commas. The last job of a submission that became several stands for all of them."`
	TimeLimit       int               `json:"timelimit,omitempty" doc:"Time limit of an instance in seconds; its item then fails."`
	AgendaTimeLimit int               `json:"agendatimelimit,omitempty" doc:"Time limit of an item in seconds, its preflights and postflights included; it then fails."`
	TimeEstimate    *int              `json:"time_estimate,omitempty" doc:"Seconds that an item takes, 1 or more. It is taken until the first items have finished; nothing is ended for it."`
	Profile         string            `json:"profile,omitempty" doc:"Jobs of the user with the same one are taken to need alike: the next starts with the memory and time of those before. Empty: the program and the job's name without digits and version."`
	RetryWork       *int              `json:"retrywork,omitempty" doc:"Number of automatic retries of a failed item; default 0."`
	PAgenda         string            `json:"p_agenda,omitempty" doc:"Items of the range that become a job of their own, with a priority and width of its own, to be seen first; the job has the others. The flag p_agenda alone takes the first, the last and the middle item."`
	PAgendaPriority int               `json:"p_agenda_priority,omitempty" doc:"Priority of that job; default supervisor_default_p_agenda_priority."`
	PAgendaCPUs     int               `json:"p_agenda_cpus,omitempty" doc:"Number of its instances; default as many as it has items."`
	Start           string            `json:"start,omitempty" doc:"Time before which nothing of the job starts: RFC 3339 with its zone, or +SPAN such as +2h from now."`
	RetryDelay      int               `json:"retrywork_delay,omitempty" doc:"Seconds from the failure of an item to its next attempt, at most 604800; 0: none."`
	RetryInstance   int               `json:"retrysubjob,omitempty" doc:"Number of automatic retries of an item that failed with its instance: through timelimit, preflights, or as the only item of an instance. No fewer than retrywork."`
	Timeout         int               `json:"timeout,omitempty" doc:"Seconds of an instance after which an event timeout reports it; nothing is ended. 0: never."`
	AgendaTimeout   int               `json:"agenda_timeout,omitempty" doc:"Seconds of an item after which an event timeout reports it; nothing is ended. 0: never."`
	Status          string            `json:"status,omitempty" enum:"pending,blocked"`

	Hosts             []string          `json:"hosts,omitempty" doc:"Allowed hosts; empty: all."`
	OmitHosts         []string          `json:"omithosts,omitempty"`
	Groups            []string          `json:"groups,omitempty"`
	OmitGroups        []string          `json:"omitgroups,omitempty"`
	Requirements      string            `json:"requirements,omitempty"`
	Reservations      string            `json:"reservations,omitempty"`
	Restrictions      string            `json:"restrictions,omitempty" doc:"Clusters of allowed hosts, joined by ||: /show, /show/* (one level below), /show/+ (all below)."`
	Preflights        []string          `json:"preflights,omitempty" doc:"Commands that run before the first item of an instance; if one fails, its item does."`
	Postflights       []string          `json:"postflights,omitempty" doc:"Commands that run after the command of a job without range; if one fails, the item does."`
	AgendaPreflights  []string          `json:"agenda_preflights,omitempty" doc:"Commands that run before each item; if one fails, the item does."`
	AgendaPostflights []string          `json:"agenda_postflights,omitempty" doc:"Commands that run after each item, with QB_FRAME_STATUS and QB_SYSTEM_EXIT_CODE; if one fails, the item does."`
	RegexProgress     string            `json:"regex_progress,omitempty" doc:"Regular expressions (RE2), one in each line, at most 8 of 256 bytes. In a line of output the first group is how far the item is in per cent, or of two groups the first of the second."`
	RegexErrors       string            `json:"regex_errors,omitempty" doc:"Regular expressions (RE2), one in each line, at most 8 of 256 bytes. An item with a line of output that matches one fails with the code log_error."`
	RegexHighlights   string            `json:"regex_highlights,omitempty" doc:"Regular expressions (RE2), one in each line, at most 8 of 256 bytes. The first 20 different lines of output that match are kept with the attempt, 400 bytes of each."`
	RegexOutputPaths  string            `json:"regex_outputpaths,omitempty" doc:"Regular expressions (RE2), one in each line, at most 8 of 256 bytes. The first group, or the whole match, is the path of an output file; the first 50 of up to 1024 bytes are kept with the attempt."`
	PathMap           []string          `json:"pathmap,omitempty" doc:"Paths here with the same on the hosts, as /vol/proj=/mnt/proj or P:=/mnt/p, for the command, its folder, variables and files. Only whole parts of a path match; the longest wins."`
	Validate          []string          `json:"validate,omitempty" doc:"Output files of each item, as PATH, PATH:SIZE, PATH:new or PATH:SIZE:new. If one is missing, smaller or, with :new, older than the attempt, the item fails. Tokens such as QB_FRAME_NUMBER are replaced."`
	HostOrder         string            `json:"hostorder,omitempty" doc:"Preferred order of hosts: +host.memory.avail prefers hosts with more of it, -NAME with less; several separated by commas."`
	Flags             []string          `json:"flags,omitempty"`
	Account           string            `json:"account,omitempty" doc:"Account to charge, a path in the share tree such as show/shot."`
	Tags              map[string]string `json:"tags,omitempty" doc:"Tags for reports: prod_show, prod_seq, prod_shot, prod_dept, prod_client, prod_custom1 to prod_custom5."`
}

// ModifyRequest changes a job; members not given stay as they are.
type ModifyRequest struct {
	Name              *string   `json:"name,omitempty"`
	Priority          *int      `json:"priority,omitempty"`
	CPUs              *int      `json:"cpus,omitempty"`
	MaxCPUs           *int      `json:"max_cpus,omitempty" doc:"As in a submission."`
	Cluster           *string   `json:"cluster,omitempty"`
	Requirements      *string   `json:"requirements,omitempty"`
	Reservations      *string   `json:"reservations,omitempty"`
	Restrictions      *string   `json:"restrictions,omitempty"`
	HostOrder         *string   `json:"hostorder,omitempty"`
	Hosts             *[]string `json:"hosts,omitempty"`
	OmitHosts         *[]string `json:"omithosts,omitempty"`
	Groups            *[]string `json:"groups,omitempty"`
	OmitGroups        *[]string `json:"omitgroups,omitempty"`
	Account           *string   `json:"account,omitempty" doc:"Account to charge, empty: none; only before the job's first item has started."`
	RetryWork         *int      `json:"retrywork,omitempty"`
	Preflights        *[]string `json:"preflights,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	Postflights       *[]string `json:"postflights,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	AgendaPreflights  *[]string `json:"agenda_preflights,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	AgendaPostflights *[]string `json:"agenda_postflights,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	RegexProgress     *string   `json:"regex_progress,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	RegexErrors       *string   `json:"regex_errors,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	RegexHighlights   *string   `json:"regex_highlights,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	RegexOutputPaths  *string   `json:"regex_outputpaths,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	PathMap           *[]string `json:"pathmap,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	Validate          *[]string `json:"validate,omitempty" doc:"As in a submission; items that run keep theirs. Needs the right to submit as the owner."`
	Start             *string   `json:"start,omitempty" doc:"As in a submission; empty: none. Only before the job's first item has started."`
	RetryDelay        *int      `json:"retrywork_delay,omitempty" doc:"As in a submission; it counts for items that wait, too."`
	RetryInstance     *int      `json:"retrysubjob,omitempty" doc:"As in a submission."`
	Timeout           *int      `json:"timeout,omitempty" doc:"As in a submission."`
	AgendaTimeout     *int      `json:"agenda_timeout,omitempty" doc:"As in a submission."`
	PGrp              *int      `json:"pgrp,omitempty" doc:"As in a submission."`
	Notes             *string   `json:"notes,omitempty" doc:"As in a submission; empty: none."`
	System            *string   `json:"system,omitempty" doc:"As in a submission."`
	MailAddress       *[]string `json:"mailaddress,omitempty" doc:"As in a submission."`
	Security          *string   `json:"security,omitempty" doc:"As in a submission. Only the owner, and a lead of the owner's group or an operator who may read the output."`
	TimeEstimate      *int      `json:"time_estimate,omitempty" doc:"As in a submission."`

	Tags map[string]string `json:"tags,omitempty" doc:"Tags to change, by name; an empty value removes the tag."`
}

// JobFilter chooses jobs, in the query of a list or the body of an order on many. Members that are absent choose all.
type JobFilter struct {
	User          string    `json:"user,omitempty" query:"user" maxLength:"255" doc:"Only this owner's; empty: everybody's."`
	Status        string    `json:"status,omitempty" query:"status" maxLength:"100" doc:"Comma list of pending, blocked, running, suspended, complete, failed, killed, done (any end) and active (pending, running or blocked)."`
	Name          string    `json:"name,omitempty" query:"name" maxLength:"255" doc:"Only jobs of exactly this name."`
	Cluster       string    `json:"cluster,omitempty" query:"cluster" maxLength:"255" doc:"Only jobs of this cluster and those below it."`
	Tags          []string  `json:"tags,omitempty" query:"tags" maxItems:"50" doc:"Only jobs with these tags, each as NAME=VALUE such as prod_show=heron; in a query comma-separated, where a part without = belongs to the value before it."`
	Expression    string    `json:"expression,omitempty" query:"expression" maxLength:"4096" doc:"Only jobs for which it holds, such as priority <= 100 and (status = failed or name = comp*); docs/filters.md has the language."`
	ChangedSince  time.Time `json:"changed_since,omitzero" query:"changed_since" required:"false" doc:"Only jobs that changed in this second or later: were submitted, modified or ordered something, ended, or had an item start, stop or end."`
	FinishedSince time.Time `json:"finished_since,omitzero" query:"finished_since" required:"false" doc:"Only jobs that have not ended, or ended at this time or later."`
}

// ActionReply counts what an action changes. A large action is answered when it is durable, and carried out in
// pieces after that.
type ActionReply struct {
	Job      int64    `json:"job"`
	Affected int      `json:"affected" doc:"Number of items that it applies to, or 1 for a whole job; 0 while it waits for another order on the job."`
	Done     int      `json:"done" doc:"Number of items that it has been applied to."`
	Order    int64    `json:"order" doc:"Its number among the job's orders; 0: it is complete."`
	Version  int64    `json:"version" doc:"The job's version after the order, for If-Match. Its end by itself counts as no change there."`
	Items    string   `json:"items" doc:"The items that it applies to, as a range that another order takes; empty if it acts on a whole job, applies to none, waits, or they are too many ranges to be named."`
	Remarks  []string `json:"remarks"`
}

// ManyJobs are the jobs of an order on many: either named, or chosen.
type ManyJobs struct {
	Jobs     []int64    `json:"jobs,omitempty" maxItems:"1000" doc:"Ids."`
	Versions []int64    `json:"versions,omitempty" maxItems:"1000" doc:"Of these jobs, one for each: the order on a job that has another version now is refused as stale, as with If-Match; 0: any. Not with remove."`
	Filter   *JobFilter `json:"filter,omitempty" doc:"All jobs that pass it, which must be 1,000 at most; at least one member must be given."`
}

// ManyReply has a result for each job, in the order of the request, or the newest job first.
type ManyReply struct {
	Affected int         `json:"affected" doc:"The sum of those of the results."`
	Results  []JobResult `json:"results"`
}

// JobResult is what became of an order on one of many jobs.
type JobResult struct {
	ActionReply
	Code   string `json:"code" doc:"ok; else the kind of the refusal: not-found, conflict, forbidden, limit, invalid, unavailable or internal."`
	Detail string `json:"detail" doc:"Why it was refused; empty if it was not."`
}

// JobOrder is an action that is carried out in pieces, or waits for another such action. The last few that are done are
// shown until the supervisor changes.
type JobOrder struct {
	Number   int64     `json:"number" doc:"Rises with each order on the job."`
	Action   string    `json:"action" enum:"kill,retry,requeue,redo,block,unblock,interrupt,preempt,suspend,resume,migrate,retire,complete,fail"`
	User     string    `json:"user" doc:"Who gave it."`
	At       time.Time `json:"at"`
	State    string    `json:"state" enum:"waiting,active,done"`
	Affected int       `json:"affected" doc:"Number of items that it applies to; 0 while it waits."`
	Done     int       `json:"done" doc:"Number of items that it has been applied to."`
}

// HostReply answers a lock or unlock.
type HostReply struct {
	Host     string `json:"host"`
	Affected int    `json:"affected"`

	Stopped     int `json:"stopped,omitempty" doc:"Of a lock with purge: items that were stopped, to run elsewhere."`
	Running     int `json:"running,omitempty" doc:"Of a lock of the whole host: items that run there to their end."`
	Pending     int `json:"pending,omitempty" doc:"Of a removal: items that may still run on the host. Its credentials are revoked; it is forgotten when the items have been given up."`
	WaitSeconds int `json:"wait_seconds,omitempty" doc:"Of a removal with pending items: when the last of them is given up at the latest."`
}

// Event is one thing that happened, as the stream and the history show it.
type Event struct {
	ID       string      `json:"id,omitempty" doc:"In a job's history: its place there, for before and after."`
	At       time.Time   `json:"at"`
	Type     string      `json:"type" doc:"docs/events.md lists them; the name of a server-sent event is the type's topic."`
	Job      *int64      `json:"job"`
	Item     *string     `json:"item"`
	Instance *string     `json:"instance"`
	Host     *string     `json:"host"`
	User     string      `json:"user,omitempty" doc:"In the history of the farm: who did it."`
	Status   string      `json:"status,omitempty" doc:"Of job-changed and host-changed: the status or state now."`
	Code     string      `json:"code" doc:"The reason as a code where the type does not say it, see docs/codes.md."`
	Params   *CodeParams `json:"params,omitempty"`
	Cause    string      `json:"cause" doc:"The reason as a sentence, for people."`
}

// CodeParams are the parameters of a code, as far as it has them.
type CodeParams struct {
	By       string  `json:"by,omitempty" doc:"Whose order it was, or who blocked the job."`
	Host     string  `json:"host,omitempty" doc:"That is lost, kept for a job or avoided."`
	Job      int64   `json:"job,omitempty" doc:"That gets the slot; of width_lowered and items_failed its own; of dependency_ended the job that ended."`
	User     string  `json:"user,omitempty" doc:"Of surplus_shared: the owner of that job; of users_items_fail whose items fail."`
	Share    string  `json:"share,omitempty" doc:"How surplus slots are shared: equally, by_user or by_fairshare."`
	Outcome  string  `json:"outcome,omitempty" doc:"The outcome that a newer worker reported."`
	Resource string  `json:"resource,omitempty" doc:"That is used up."`
	Option   string  `json:"option,omitempty" doc:"The limit that was reached: timelimit or agendatimelimit."`
	Limit    int64   `json:"limit,omitempty" doc:"Of time_limit, users_items_fail, host locks and lock_ended seconds, of memory_limit bytes, of width_lowered instances, of has_all_slots and hosts_avoided slots."`
	Earlier  bool    `json:"earlier,omitempty" doc:"The instance ran other items before, which count towards the limit."`
	Seconds  float64 `json:"seconds,omitempty" doc:"For which it ran."`
	Largest  int64   `json:"largest,omitempty" doc:"Memory of the largest host that serves the job, in bytes, if it does not run again for this reason."`
	Offer    int64   `json:"offer,omitempty" doc:"Bytes that such a host can offer."`
	State    string  `json:"state,omitempty" doc:"Of dependency_ended: the state of the job that ended."`
	Hosts    int     `json:"hosts,omitempty" doc:"On how many hosts it happened; of hosts_avoided how many are avoided."`
	Users    int     `json:"users,omitempty" doc:"Of items_fail: of how many users."`
	Failed   int     `json:"failed,omitempty" doc:"Items that failed."`
	Items    int     `json:"items,omitempty" doc:"Of items_failed: all items of the job."`
	End      string  `json:"end,omitempty" doc:"Of items_failed: the code of their ends, such as exit, if all have the same."`
	ExitCode int     `json:"exit_code,omitempty" doc:"Of exit, and of items_failed with end = exit."`
	Signal   int     `json:"signal,omitempty" doc:"Of signal, and of items_failed with end = signal."`
	Label    string  `json:"label,omitempty" doc:"Of waits_for_label: the label that no job of the process group has."`
	Folder   string  `json:"folder,omitempty" doc:"Of folder_missing, folder_denied and items_failed: the working folder of the job."`
	Path     string  `json:"path,omitempty" doc:"Of over_budget: the place in the tree of shares whose budget is used up."`
	Until    string  `json:"until,omitempty" doc:"Of over_budget: when the job will fit again if nothing more is used; absent: never. Of hosts_avoided: when the first host is used again."`
	Wait     int64   `json:"wait,omitempty" doc:"Seconds from the end of an attempt until its item is tried again, if it ended several times without being charged a retry."`
}

// Limit is one limit of a user.
type Limit struct {
	Limit   string `json:"limit" doc:"Name as in a refusal, such as open-jobs."`
	Used    int64  `json:"used" doc:"Jobs or bytes; 0 for limits per minute."`
	Most    int64  `json:"most" doc:"Value of its setting; 0: no limit."`
	Refused int    `json:"refused" doc:"Number of calls refused in the last minutes."`
	Text    string `json:"text" doc:"The same as a sentence."`
}

// TokenRequest asks for a new token.
type TokenRequest struct {
	User string `json:"user"`
	Role string `json:"role" enum:"admin,operator,user,read-only,worker"`
	Days int    `json:"days,omitempty" doc:"Lifetime in days; default 90 or supervisor_token_days if that is less; at most supervisor_token_days."`

	TTLSeconds int `json:"ttl_seconds,omitempty" minimum:"0" maximum:"31536000" doc:"Lifetime in seconds, instead of days; at most supervisor_token_days."`
	Uses       int `json:"uses,omitempty" minimum:"0" maximum:"10000" doc:"How often the token may be exchanged for another, as a joining worker does; it is then good for nothing else. 0: an ordinary token."`
}

// RotateRequest asks for a token like an existing one.
type RotateRequest struct {
	OverlapSeconds int `json:"overlap_seconds" minimum:"0" maximum:"7776000" doc:"Time for which the old token remains valid."`
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
	UsesLeft  *int       `json:"uses_left" doc:"How often it may still be exchanged for another token; it is good for nothing else. null: an ordinary token."`
	Name      string     `json:"name" doc:"How its user calls it, if it was made by a login."`
	SessionOf string     `json:"session_of,omitempty" doc:"Of a session in the page: the token that it was begun with and ends with, or user NAME of the unix socket."`
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
	Reason string      `json:"reason" doc:"One sentence; empty if nothing waits."`
	Facts  []Fact      `json:"facts"`
}
