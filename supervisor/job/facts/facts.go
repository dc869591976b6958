package facts

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"qb/agenda"
)

// JobID rises with each submission, from 1.
type JobID int64

// HostID is a host's name.
type HostID string

// ItemNo counts a job's items from 0, in agenda order.
type ItemNo int

// Kind distinguishes a job's guaranteed instances from those of SmartShare.
type Kind uint8

// The two kinds.
const (
	Primary Kind = iota
	Secondary
)

func (k Kind) String() string {
	if k == Secondary {
		return "secondary"
	}
	return "primary"
}

// ParseKind is the inverse of String; anything but "secondary" is primary.
func ParseKind(s string) Kind {
	if s == "secondary" {
		return Secondary
	}
	return Primary
}

// AttemptID names one try at one item; Number counts from 1.
type AttemptID struct {
	Job    JobID
	Item   ItemNo
	Number int
}

// AttemptState is what the row of an attempt says.
type AttemptState string

// Running and Stopping are live; all others are ends and never change but by a user's order to redo
// (done becomes superseded).
const (
	Running    AttemptState = "running"
	Stopping   AttemptState = "stopping"
	Done       AttemptState = "done"
	Failed     AttemptState = "failed"
	Killed     AttemptState = "killed"
	Preempted  AttemptState = "preempted"
	Lost       AttemptState = "lost"
	Superseded AttemptState = "superseded"
)

// Live says whether the attempt still holds its slot.
func (s AttemptState) Live() bool { return s == Running || s == Stopping }

// RunsAgain says whether the item of an ended attempt may run again.
type RunsAgain uint8

// Never: the end is final. ByItself: a retry, preemption or loss put it back. ByOrder: a user did,
// and failures before it no longer count against the retries.
const (
	Never RunsAgain = iota
	ByItself
	ByOrder
)

// JobState is what the row of a job says. Pending and running are distinguished by the live attempts.
type JobState string

// Active jobs may run; Complete, FailedJob and KilledJob are final.
const (
	Active    JobState = "active"
	Blocked   JobState = "blocked"
	Suspended JobState = "suspended"
	Complete  JobState = "complete"
	FailedJob JobState = "failed"
	KilledJob JobState = "killed"
)

// Final says whether the job has ended.
func (s JobState) Final() bool { return s == Complete || s == FailedJob || s == KilledJob }

// JobFacts is the row of a job. The tags name the columns; a column that never changes after the submission is fixed,
// and not written again. Submission, Tags and FinishedAt are not stored as they are here.
type JobFacts struct {
	ID         JobID  `db:"id,fixed" json:"id"`
	Submission string `db:"-" json:"-"`             // token of the submission; unique
	Version    int64  `db:"version" json:"version"` // rises with each change
	Name       string `db:"name" json:"name"`
	User       string `db:"owner,fixed" json:"owner"`
	// of User on the supervisor's machine, as the kernel named it at the submission; nil: it did not
	UID        *int64      `db:"owner_uid,fixed" json:"owner_uid"`
	Priority   int         `db:"priority" json:"priority"`
	Cluster    string      `db:"cluster" json:"cluster"`
	CPUs       int         `db:"cpus" json:"cpus"`
	MaxCPUs    *int        `db:"max_cpus" json:"max_cpus"` // as given; nil: site default
	Agenda     agenda.Spec `db:"agenda,fixed" json:"agenda"`
	RetryWork  int         `db:"retrywork" json:"retrywork"`
	Dependency string      `db:"dependency,fixed" json:"dependency"` // as given
	// path in the tree of shares, such as show/shot; "" for none
	Account string `db:"account" json:"account"`
	Tags    Tags   `db:"-" json:"-"` // for reports
	// what is left of it to wait for; a condition that came true is taken out
	WaitFor []Link   `db:"wait_for" json:"wait_for"`
	State   JobState `db:"state" json:"state"`
	// who or what holds a blocked job, "" for dependencies
	BlockedBy string            `db:"blocked_by" json:"blocked_by"`
	Command   []string          `db:"command,fixed" json:"command"`
	Shell     bool              `db:"shell,fixed" json:"shell"`
	Cwd       string            `db:"cwd,fixed" json:"cwd"`
	Env       map[string]string `db:"env,fixed" json:"env"`
	Umask     *int              `db:"umask,fixed" json:"umask"`
	PGrp      JobID             `db:"pgrp" json:"pgrp"`         // the process group: the id of its first job
	PID       JobID             `db:"pid,fixed" json:"pid"`     // the job that it belongs to; 0: none
	Label     string            `db:"label,fixed" json:"label"` // its name within the process group
	Kind      string            `db:"kind,fixed" json:"kind"`   // what jobs of one sort share
	JobType   string            `db:"type,fixed" json:"type"`   // as given; see Type
	System    string            `db:"system" json:"system"`     // whose paths and programs it has; see FamilyOf
	Division  *Division         `db:"division,fixed" json:"division"`
	Notes     string            `db:"notes" json:"notes"`
	// notified when it has ended; none and the flag mail: its owner
	MailAddress []string `db:"mailaddress" json:"mailaddress"`
	Security    string   `db:"security" json:"security"` // what others may do with it; see ReadSecurity

	// The order by hand: among all unfinished jobs of the cluster and priority, the least first; and the job of the same
	// owner whose turn it has, as by its age, 0: its own.
	GlobalOrder int64 `db:"global_order" json:"global_order"`
	LocalOrder  int64 `db:"local_order" json:"local_order"`

	// OperatorPriority is the priority that an operator or admin gave last, whatever the owner has given since; 0:
	// none. It acts where fairshare ranks owners.
	OperatorPriority int `db:"operator_priority" json:"operator_priority"`

	StartAt string `db:"start_at" json:"start_at"` // time in RFC 3339 and UTC before which nothing of it starts; "": none

	RetryDelay    int `db:"retrywork_delay" json:"retrywork_delay"` // seconds from a failure to the next attempt
	RetryInstance int `db:"retrysubjob" json:"retrysubjob"`         // retries of an item that failed through its instance
	// seconds of an instance after which it is reported; 0: never
	Timeout       int `db:"timeout" json:"timeout"`
	AgendaTimeout int `db:"agenda_timeout" json:"agenda_timeout"` // the same, of an item

	Preflights        []string `db:"preflights" json:"preflights"`
	Postflights       []string `db:"postflights" json:"postflights"`
	AgendaPreflights  []string `db:"agenda_preflights" json:"agenda_preflights"`
	AgendaPostflights []string `db:"agenda_postflights" json:"agenda_postflights"`
	Validate          []string `db:"validate" json:"validate"` // PATH[:SIZE][:new]

	RegexProgress string   `db:"regex_progress" json:"regex_progress"` // one expression in each line
	RegexErrors   string   `db:"regex_errors" json:"regex_errors"`
	PathMap       []string `db:"pathmap" json:"pathmap"` // FROM=TO

	RegexHighlights  string `db:"regex_highlights" json:"regex_highlights"`
	RegexOutputPaths string `db:"regex_outputpaths" json:"regex_outputpaths"`

	// the items that became a job of their own, of the job of the others
	PAgenda         string `db:"p_agenda,fixed" json:"p_agenda"`
	PAgendaPriority int    `db:"p_agenda_priority,fixed" json:"p_agenda_priority"` // as it was asked for; 0: it was not
	PAgendaCPUs     int    `db:"p_agenda_cpus,fixed" json:"p_agenda_cpus"`         // the same

	Hosts        []string `db:"hosts" json:"hosts"`
	OmitHosts    []string `db:"omit_hosts" json:"omit_hosts"`
	Groups       []string `db:"groups" json:"groups"`
	OmitGroups   []string `db:"omit_groups" json:"omit_groups"`
	Requirements string   `db:"requirements" json:"requirements"`
	Reservations string   `db:"reservations" json:"reservations"`
	// jobs of the owner's that are taken to need alike; "": none
	Profile         string `db:"profile,fixed" json:"profile"`
	TimeLimit       int    `db:"timelimit,fixed" json:"timelimit"`               // seconds, of an instance; 0: none
	AgendaTimeLimit int    `db:"agenda_timelimit,fixed" json:"agenda_timelimit"` // seconds, of an item; 0: none
	// seconds that an item takes; 0: not stated
	TimeEstimate int      `db:"time_estimate" json:"time_estimate"`
	Restrictions string   `db:"restrictions" json:"restrictions"` // /show/* || /x/+
	HostOrder    string   `db:"host_order" json:"host_order"`     // +host.memory.avail
	Flags        []string `db:"flags,fixed" json:"flags"`

	SubmittedAt time.Time `db:"submitted_at,fixed" json:"submitted_at"`
	FinishedAt  time.Time `db:"-" json:"-"` // zero unless final
}

// AttemptFacts is the row of an attempt.
type AttemptFacts struct {
	RunFacts
	Again    RunsAgain
	Why      // it stops, or ended otherwise than done; of a running one, by whose order its instance takes no next item
	ExitCode *int
	Signal   *int
	Wall     float64 // seconds, as the worker measured
	CPU      float64 // seconds
	Peak     int64   // bytes
	Charge   Charge  // of an ended attempt
	Charged  bool    // its owner pays it
}

// RunFacts is what of an attempt a farm has for as long as it runs: there are hundreds of thousands.
type RunFacts struct {
	AttemptID
	Host     HostID
	Boot     string // boot id of the host when it was given
	StateID  string // state folder of the agent when it was given
	Instance int
	Kind     Kind
	Owner    string
	Slots    int
	Memory   int64            // bytes held
	Holds    map[string]int64 // other resources held, as host.gpus
	Devices  []int            // of host.gpus
	State    AttemptState

	StartedAt time.Time
	EndedAt   time.Time // zero while live

	SuspendedAt time.Time // since when its processes stand still by order; zero: they run
	Suspended   float64   // seconds for which they did before
	ReleasedAt  time.Time // since when others may have its slots, as it is suspended; zero: it holds them
	Released    float64   // seconds for which they might before
	ResumingAt  time.Time // since when it waits for slots to go on; zero: it does not

	// It was given ahead, while its instance still had this attempt at an item of its job; BehindNumber 0: it was not.
	BehindItem   ItemNo
	BehindNumber int
}

// Ahead is whether a was given while its instance had another attempt, after which it begins.
func (a *RunFacts) Ahead() bool { return a.BehindNumber > 0 }

// Follows is whether a was given while its instance had the attempt b.
func (a *RunFacts) Follows(b AttemptID) bool {
	return a.Ahead() && b == AttemptID{Job: a.Job, Item: a.BehindItem, Number: a.BehindNumber}
}

// DoneFacts is what a farm needs of those attempts of a job that did their items, in short: of all that have one
// number. Most attempts are such, and a takeover reads all of those of unfinished jobs, perhaps a million, which is
// why they come as columns. The lists are of one length.
type DoneFacts struct {
	Number    int
	StartedAt time.Time // of the earliest
	Items     []ItemNo
	Wall      []float64 // seconds
	Peak      []int64   // bytes
}

// InShort is whether a is an attempt that DoneFacts are made of: it did its item, which stays done, and gives no
// reason.
func (a AttemptFacts) InShort() bool { return a.State == Done && a.Again == Never && a.Reason == "" }

// Lapsed is whether a was given up as its lease had run out while its host was silent, and no action decided otherwise.
func (a *AttemptFacts) Lapsed() bool {
	return a.State == Lost && a.Again == ByItself && (a.Reason == ReasonHostSilent || a.Reason == ReasonHostDeaf)
}

// MarkKind is an order on items that is not an attempt.
type MarkKind string

// Kinds of marks.
const (
	MarkKilled   MarkKind = "killed"
	MarkBlocked  MarkKind = "blocked"
	MarkComplete MarkKind = "complete"
	MarkFailed   MarkKind = "failed" // by order, or as its attempts have become daily sums
)

// State is the state of an item under such a mark.
func (k MarkKind) State() agenda.State {
	switch k {
	case MarkKilled:
		return agenda.Killed
	case MarkBlocked:
		return agenda.Blocked
	case MarkFailed:
		return agenda.Failed
	}
	return agenda.Complete
}

// Mark holds the items First, First+Step and so on to Last of a job. An attempt that is live, done or finally failed
// outweighs it; an attempt that ends so that its item may run again by itself does not. No two marks have an item in
// common.
type Mark struct {
	First, Last ItemNo
	Step        int // of one item: 1
	Kind        MarkKind
	By          string
	At          time.Time
}

// Span is the items of the mark.
func (m Mark) Span() agenda.Span {
	return agenda.Span{First: int(m.First), Last: int(m.Last), Step: m.Step}
}

// On is the mark on other items.
func (m Mark) On(s agenda.Span) Mark {
	m.First = ItemNo(s.First)
	m.Last = ItemNo(s.Last)
	m.Step = s.Step
	return m
}

// ActionFacts is the row of an order that takes more than one commit, or waits for one of these.
type ActionFacts struct {
	Job      JobID
	Number   int64 // rises with each order on the job
	Action   Action
	Items    []agenda.Span // nil: all
	By       string
	At       time.Time // when it was given
	Begun    time.Time // zero: it waits for those on the job before it
	Next     ItemNo    // all below it is done
	Affected int       // items that it applies to, as of when it began
	Done     int       // of these
}

// HostFacts is the row of a host.
type HostFacts struct {
	ID         HostID            `json:"id"`
	MachineID  string            `json:"machine_id"`
	Boot       string            `json:"boot"`
	StateID    string            `json:"state_id"`
	Slots      int               `json:"slots"`
	Memory     int64             `json:"memory"`
	Cluster    string            `json:"cluster"`
	Groups     []string          `json:"groups"`
	Properties map[string]string `json:"properties"`
	Resources  map[string]int    `json:"resources"`
	LockedBy   string            `json:"locked_by"` // "" if not locked
	LockReason string            `json:"lock_reason"`
	// slots that a person has locked, of a host that is not locked whole
	Locked int       `db:"locked_slots" json:"locked_slots"`
	SeenAt time.Time `json:"seen_at"`
	Spec   float64   `json:"spec"` // speed for the charge; 1 is the reference, as is 0
	Key    string    `json:"key"`  // public key of its state folder, in hex; "" if its worker has not enrolled
}

// Facts is all that a term starts from.
type Facts struct {
	NextJob JobID
	// AttemptFloor is from the last restore of the rows: attempts given from now on have higher numbers.
	AttemptFloor int
	Promise      PromiseFacts // that earlier answers may have made
	LastAttempt  int          // highest number of any attempt; read only while a restore is not settled
	Jobs         []JobRecord  // all that are not final, and those whose items these wait for
	// never nil: final ones that those still wait for: their end is reported over several commits
	Ended        map[JobID]JobState
	Hosts        []HostFacts
	Usage        []UsageFacts
	Shares       []ShareFacts
	Credits      []CreditFacts
	Accounts     []AccountFacts
	Budgets      []BudgetFacts
	Publications []PublicationFacts
	Profiles     []ProfileFacts
	Resources    []ResourceFacts // by name
	Breakages    []BreakageFacts
}

// JobRecord is a job with everything that happened to it, enough to take it up again.
type JobRecord struct {
	Job    JobFacts
	Marks  []Mark
	Orders []ActionFacts // by number; of a job that has some Done is empty
	// Attempts and Done hold for each touched item at least the latest attempt and all failed ones; the farm
	// needs no more. Order is irrelevant. What is InShort may stand in either.
	Attempts []AttemptFacts
	Done     []DoneFacts
	// Compacted says that attempts of it are no longer rows; such a job never runs again.
	Compacted bool
}

// Recorder takes in a job's record while it is read, so that a million attempts are never in memory at once. A read
// that is repeated calls Begin again.
type Recorder interface {
	// Begin takes in the record without its attempts.
	Begin(r JobRecord) error
	// Add takes in the next attempt, by item and number.
	Add(a AttemptFacts) error
	// Finish says that there are no more attempts.
	Finish()
}

// Add takes an attempt in, in short if it can be.
func (r *JobRecord) Add(a AttemptFacts) {
	if !a.InShort() {
		r.Attempts = append(r.Attempts, a)
		return
	}
	n := slices.IndexFunc(r.Done, func(d DoneFacts) bool { return d.Number == a.Number })
	if n < 0 {
		n, r.Done = len(r.Done), append(r.Done, DoneFacts{Number: a.Number, StartedAt: a.StartedAt})
	}
	d := &r.Done[n]
	d.Items = append(d.Items, a.Item)
	d.Wall = append(d.Wall, a.Wall)
	d.Peak = append(d.Peak, a.Peak)
	if a.StartedAt.Before(d.StartedAt) {
		d.StartedAt = a.StartedAt
	}
}

// AnswerFacts is what a user's change under a key was answered.
type AnswerFacts struct {
	User string    `json:"owner"`
	Key  string    `json:"key"`
	Hash []byte    `json:"hash"` // SHA-256 of the request
	Body string    `json:"body"` // JSON
	At   time.Time `json:"at"`
}

// AuditFacts is who did what, from where.
type AuditFacts struct {
	At      time.Time `json:"at"`
	Who     string    `json:"who"`     // "" if no credential was good
	Token   string    `json:"token"`   // its id; "" for a user of the unix socket
	Origin  string    `json:"origin"`  // unix:UID, or the address
	Verb    string    `json:"verb"`    // id of the endpoint
	Object  string    `json:"object"`  // such as job 12
	Outcome string    `json:"outcome"` // done, read, refused; dropped: what was too much to be noted one by one
	Code    string    `json:"code"`    // of a refusal
	Detail  string    `json:"detail"`  // JSON; "" for none
	Request string    `json:"request"` // id of the request
	Times   int64     `json:"times"`   // of dropped ones; 0 counts as 1
}

// Same says whether the facts are of the same machine, boot and state folder, and of the key with which the host
// enrolled, if it has.
func (h HostFacts) Same(o HostFacts) bool {
	return h.MachineID == o.MachineID && h.Boot == o.Boot && h.StateID == o.StateID && (h.Key == "" || h.Key == o.Key)
}

// SameRow says whether a worker's report of the host changes nothing in its row.
func (h HostFacts) SameRow(o HostFacts) bool {
	return h.ID == o.ID && h.MachineID == o.MachineID && h.Boot == o.Boot && h.StateID == o.StateID &&
		h.Slots == o.Slots && h.Memory == o.Memory && h.Spec == o.Spec && h.Key == o.Key && h.Cluster == o.Cluster &&
		slices.Equal(h.Groups, o.Groups) &&
		maps.Equal(h.Properties, o.Properties) && maps.Equal(h.Resources, o.Resources)
}

// Whereabouts names a host's machine, boot and state folder, each by its first letters.
func (h HostFacts) Whereabouts() string {
	key := ""
	if h.Key != "" {
		key = ", key " + Short(h.Key)
	}
	return fmt.Sprintf("machine %s (boot %s, state folder %s%s)", Short(h.MachineID), Short(h.Boot), Short(h.StateID), key)
}

// Short is an id by its first letters, as people see it.
func Short(id string) string {
	if id == "" {
		return "unknown"
	}
	return fmt.Sprintf("%.8s", id)
}

// overuseLeast is the least wall time, in seconds, from which processor time says something.
const overuseLeast = 2

// Overuse tells, "" if it did not, by how much an ended attempt used more processor time than half as much
// again as its slots give.
func (a AttemptFacts) Overuse() string {
	if a.Wall < overuseLeast || a.Slots < 1 || a.CPU <= 1.5*a.Wall*float64(a.Slots) {
		return ""
	}
	return fmt.Sprintf("%.0f cores on %s", math.Round(a.CPU/a.Wall), Several(a.Slots, "slot"))
}

// Pauses says whether an item whose attempt has ended so waits before it is tried again.
func (j *JobFacts) Pauses(state AttemptState, again RunsAgain, why Why) bool {
	if state == Done || again != ByItself {
		return false
	}
	return why.Params.Wait > 0 || j.RetryDelay > 0 && state == Failed && !why.Reason.Uncharged()
}

// PauseAfter is for how long an item waits then.
func (j *JobFacts) PauseAfter(why Why) time.Duration {
	if why.Params.Wait > 0 {
		return time.Duration(why.Params.Wait) * time.Second
	}
	return time.Duration(j.RetryDelay) * time.Second
}
