package api

import (
	"net/http"
	"time"
)

// The endpoints of the page.
var (
	FarmPage = Endpoint{"page", http.MethodGet, "/", Anyone, "The farm as a page; it holds no data of the farm"}
	Asset    = Endpoint{"asset", http.MethodGet, "/assets/{hash}/{file}", Anyone, "A file of the page"}
	MakeCode = Endpoint{"make-code", http.MethodPost, "/v1/codes", ReadOnly,
		"Make a code that begins one session of the page"}
	BeginSession = Endpoint{"begin-session", http.MethodPost, "/v1/sessions", ReadOnly,
		"Begin a session of the page with a code"}
	ProveServer = Endpoint{"prove-server", http.MethodGet, "/v1/sessions/{session}/proof", Anyone,
		"Prove to a page that the supervisor has the key of its session, or of its code"}
	Watch = Endpoint{"watch", http.MethodGet, "/v1/watch", ReadOnly,
		"Follow the states of jobs and hosts, and of a job's items; the changes of a moment come together"}
	GetItem = Endpoint{"get-item", http.MethodGet, "/v1/jobs/{job}/items/{item}", ReadOnly,
		"One item of a job with its attempts"}
	WhatIf = Endpoint{"what-if", http.MethodGet, "/v1/what-if", ReadOnly,
		"What a change would start and stop, by one plan; nothing is changed"}
	TrySubmission = Endpoint{"try-submission", http.MethodPost, "/v1/submissions/what-if", User,
		"What submitting a job would start and stop, by one plan; nothing is stored"}
	SlotMap = Endpoint{"slot-map", http.MethodGet, "/v1/slots", ReadOnly,
		"What every slot of every host does, as columns"}
	CheckSubmission = Endpoint{"check-submission", http.MethodPost, "/v1/submissions/check", User,
		"What submitting a job would say; nothing is stored"}
	ItemStates = Endpoint{"item-states", http.MethodGet, "/v1/jobs/{job}/states", ReadOnly,
		"The states of all items of a job, a letter each"}
	Timeline = Endpoint{"timeline", http.MethodGet, "/v1/timeline", ReadOnly,
		"Who had how many instances over time, by job, user or account"}
	FarmHistory = Endpoint{"history", http.MethodGet, "/v1/history", Operator,
		"What was done on the whole farm, the newest first"}
	FindInLog = Endpoint{"find-in-log", http.MethodGet, "/v1/jobs/{job}/items/{item}/log/find", User,
		"The lines of an attempt's output that have a text"}
	ItemValues = Endpoint{"item-values", http.MethodGet, "/v1/jobs/{job}/values", ReadOnly,
		"What the items of a job took, how that spreads, and which items stand out"}
)

// CodeReply is a code for a session of the page. It is good for the run of the supervisor that made it.
type CodeReply struct {
	TokenReply
	URL string `json:"url" doc:"The address at which the code is good: the page, without a path."`
}

// Link begins one session of the page, with what it shows first. The code is in the fragment, which browsers never
// send.
func (r CodeReply) Link(view string) string { return r.URL + "/#code=" + r.Token + view }

// SessionReply is a session of the page. Its key is not sent: the page that has the code decrypts it.
type SessionReply struct {
	Key string `json:"key" doc:"The key of the session, by AES-GCM under a key that is derived from the code: nonce and text in base64url."`
	TokenInfo
}

// Proof shows that the supervisor has the key of a session, or of the code for one.
type Proof struct {
	Process string `json:"process" doc:"The run of the supervisor, for which requests are signed."`
	Proof   string `json:"proof" doc:"HMAC-SHA256 in base64url under that key, over the lines: qb server 1, the nonce, the process, and the origin of the page."`
}

// SubmissionCheck is what submit would say to the same body.
type SubmissionCheck struct {
	Refusals []SubmissionRefusal `json:"refusals" doc:"Why submit would refuse it; empty: it would take it."`
	Items    *SubmissionItems    `json:"items,omitempty" doc:"The items of the range, whatever else is refused; absent where there is no range or it cannot be read."`
	Remarks  []string            `json:"remarks" doc:"What submit would remark."`
}

// SubmissionRefusal is one reason why a submission would be refused.
type SubmissionRefusal struct {
	Kind    Kind   `json:"kind" doc:"The kind of the refusal that submit would give."`
	Limit   string `json:"limit,omitempty" doc:"Of kind limit: which one."`
	Message string `json:"message"`
	Member  string `json:"member,omitempty" doc:"Of the body, such as range; absent: it is not one member."`
}

// SubmissionItems are the items of a range in the order in which they run.
type SubmissionItems struct {
	Count int      `json:"count"`
	Order string   `json:"order" doc:"ascend, reverse or binary."`
	First []string `json:"first" doc:"The names of the first three; of five items or fewer all."`
	Last  []string `json:"last" doc:"The names of the last two of more than five."`
}

// ItemReply is an item with its attempts.
type ItemReply struct {
	Item     Item      `json:"item"`
	Attempts []Attempt `json:"attempts" doc:"The first 1,000, oldest first."`
}

// ItemStatesReply is a job's items in agenda order.
type ItemStatesReply struct {
	Job     int64  `json:"job"`
	Version int64  `json:"version" doc:"The job's version."`
	States  string `json:"states" doc:"A letter for each item: p pending, r running as primary, s as secondary, c complete, f failed, k killed, b blocked."`
}

// ItemValuesReply is one value for each item of a job, in agenda order.
type ItemValuesReply struct {
	Job         int64         `json:"job"`
	Version     int64         `json:"version" doc:"The job's version."`
	Of          string        `json:"of" enum:"seconds,memory,attempts,host"`
	Values      []float64     `json:"values" doc:"Of the latest attempt: seconds, the peak in MiB, its number, or the host, 1 for the first of hosts; 0: none. Items after the last value have none."`
	Hosts       []string      `json:"hosts" doc:"Names, if the host is asked for."`
	Spread      *ItemSpread   `json:"spread,omitempty" doc:"Of complete items; absent if there is none, and for hosts."`
	Outliers    []ItemOutlier `json:"outliers" doc:"Complete items far above the median, the furthest first; at most 100."`
	OutliersAll int           `json:"outliers_all" doc:"How many those are in all."`
}

// ItemSpread is how values spread.
type ItemSpread struct {
	Count  int     `json:"count" doc:"How many values there are."`
	Least  float64 `json:"least"`
	P10    float64 `json:"p10" doc:"A tenth of the values is at most this."`
	Median float64 `json:"median"`
	P90    float64 `json:"p90" doc:"Nine tenths of the values are at most this."`
	Most   float64 `json:"most"`
}

// ItemOutlier is an item far above the others of its job.
type ItemOutlier struct {
	Item         string  `json:"item"`
	Number       int     `json:"number"`
	Host         string  `json:"host"`
	Value        float64 `json:"value"`
	Times        float64 `json:"times" doc:"How many times the median that is."`
	Fault        string  `json:"fault" enum:"host,item,unknown" doc:"host: what else the host completed of this job took half as much again as the median, or more; item: it did not; unknown: the host has completed fewer than three others."`
	OthersMedian float64 `json:"others_median" doc:"Median of the host's other complete items; 0: unknown."`
}

// SlotMapReply is what every slot does. The first columns have a value for each host, the others for each run:
// instances of one host that are alike. The runs of a host follow those of the host before it.
type SlotMapReply struct {
	At      time.Time `json:"at" doc:"When the farm was as the answer has it."`
	Hosts   []string  `json:"hosts" doc:"Names."`
	States  string    `json:"states" doc:"A letter for each host: u up, k locked, n unreachable, l lost."`
	Slots   []int     `json:"slots" doc:"How many slots each host offers."`
	Foreign []int     `json:"foreign" doc:"How many of them others take."`
	Runs    []int     `json:"runs" doc:"How many runs each host has."`
	Jobs    []int64   `json:"jobs" doc:"The job of each run, less the job of the run before it on the same host."`
	Kinds   string    `json:"kinds" doc:"A letter for each run: p primary, s secondary, d draining or stopping."`
	Each    []int     `json:"each" doc:"How many slots an instance of the run has."`
	Count   []int     `json:"count" doc:"How many instances the run has."`
}

// WhatIfQuery is a change to try: of a job, of hosts, or of both. Members that are absent stay as they are.
type WhatIfQuery struct {
	Job      int64    `query:"job" minimum:"0" doc:"The job that would be changed; 0: none."`
	Priority int      `query:"priority" minimum:"0" doc:"Its priority."`
	CPUs     int      `query:"cpus" minimum:"0" maximum:"1000000" doc:"Its cpus."`
	MaxCPUs  string   `query:"max_cpus" maxLength:"20" doc:"Its max_cpus: a number, 0 for no secondaries, or * for the site's limit."`
	Cluster  string   `query:"cluster" maxLength:"255" doc:"Its cluster."`
	Lock     []string `query:"lock" maxItems:"1000" doc:"Hosts that would be locked, comma-separated."`
}

// TrialReply is what one plan would do with a submission, beside what it would do without. Of the jobs, number 0 is the
// a job that would be submitted.
type TrialReply struct {
	WhatIfReply
	Submission WhatIfSubmission `json:"submission"`
}

// WhatIfSubmission is when the job of a submission would start.
type WhatIfSubmission struct {
	Items    int      `json:"items" doc:"Of a job without a range: its instances."`
	Start    string   `json:"start" enum:"now,after-stops,later" doc:"now: an instance starts at once, on free slots; after-stops: the first starts when what stops for it has ended; later: this plan has no slot for it."`
	Now      int      `json:"now" doc:"Instances that start at once."`
	Stopped  int      `json:"after_stops" doc:"Instances that start when what stops for them has ended."`
	Earliest *float64 `json:"earliest_seconds" doc:"Seconds until the first instance can start, items taken to run as long as others of their job; null: not known. It is no promise: other jobs may come first."`
	Code     string   `json:"code" doc:"Why nothing starts now, as in the list of jobs; empty: something does."`
	Reason   string   `json:"reason" doc:"The same for people."`
	Remarks  []string `json:"remarks" doc:"What submit would remark."`
}

// WhatIfReply is what one plan would do with the change, beside what it would do without. It says nothing of tomorrow.
type WhatIfReply struct {
	At         time.Time    `json:"at" doc:"When the farm was as the answer has it."`
	Epoch      int64        `json:"epoch" doc:"The term."`
	Version    int64        `json:"version" doc:"Of the job, for the If-Match of the change; 0: no job is changed."`
	Jobs       []WhatIfJob  `json:"jobs" doc:"Jobs with another number of instances then, in the order in which they are served; at most 1,000."`
	Moved      int          `json:"moved" doc:"How many those are in all."`
	Stops      []WhatIfStop `json:"stops" doc:"What stops then and would not without the change, cheapest first; at most 1,000."`
	Stopped    int          `json:"stopped" doc:"How many those are in all."`
	Spared     int          `json:"spared" doc:"How many instances stop without the change and would not with it."`
	Passive    bool         `json:"passive" doc:"They stop after their item, so no work is lost."`
	LostBefore float64      `json:"lost_before" doc:"Seconds of work that stops lose without the change."`
	LostAfter  float64      `json:"lost_after" doc:"The same with it."`
	FreeBefore int          `json:"free_before" doc:"Slots left free without the change."`
	FreeAfter  int          `json:"free_after" doc:"The same with it."`
}

// WhatIfJob is a job whose instances change.
type WhatIfJob struct {
	Job     int64        `json:"job" doc:"Its number; 0: the job that would be submitted."`
	Running WhatIfCounts `json:"running" doc:"What runs now."`
	Before  WhatIfCounts `json:"before" doc:"What it has after a plan without the change."`
	After   WhatIfCounts `json:"after" doc:"What it has after a plan with it."`
}

// WhatIfCounts are instances by kind.
type WhatIfCounts struct {
	Primary   int `json:"primary"`
	Secondary int `json:"secondary"`
}

// WhatIfStop is an instance that would stop.
type WhatIfStop struct {
	Job      int64   `json:"job"`
	Instance string  `json:"instance" doc:"As qb plan calls it, JOB.NUMBER."`
	Host     string  `json:"host"`
	Item     string  `json:"item" doc:"The item that it runs."`
	Seconds  float64 `json:"seconds" doc:"For how long it has run that."`
}

// Totals is the farm in numbers, as watch sends them.
type Totals struct {
	Slots     SlotCounts     `json:"slots" doc:"Of hosts that are up or locked."`
	Hosts     map[string]int `json:"hosts" doc:"Number of hosts by state."`
	Jobs      map[string]int `json:"jobs" doc:"Number of jobs by status, of those that the farm holds."`
	Items     ItemCounts     `json:"items" doc:"Of these jobs that have not ended."`
	Instances InstanceCounts `json:"instances"`
	Trouble   string         `json:"trouble" doc:"Why the farm is read-only; empty: it is not."`
	Brake     string         `json:"brake" doc:"Why items of silent hosts are not moved now; empty: they are."`
}

// LogSizeHeader is how many bytes the asked stream of an attempt's log has, when only its end is asked for.
const LogSizeHeader = "Qb-Log-Size"

// TimelineQuery asks who had how many instances over time.
type TimelineQuery struct {
	From time.Time `query:"from" doc:"Default: an hour before to. A day is remembered in steps of 10 s, a week in steps of 2 minutes, by the supervisor that leads."`
	To   time.Time `query:"to" doc:"Default: now."`
	Step int       `query:"step" minimum:"0" maximum:"691200" doc:"Seconds of a point, rounded up to a multiple of 10 or 120; 0: about 300 points. At most 1,000."`
	By   string    `query:"by" enum:"job,user,account" default:"job"`
}

// TimelineReply is means of instances for each step from a moment on.
type TimelineReply struct {
	From    time.Time        `json:"from" doc:"Begin of the first point."`
	Step    int              `json:"step" doc:"Seconds of a point."`
	By      string           `json:"by"`
	Samples []int            `json:"samples" doc:"How many samples each point is the mean of; 0: a gap, of which nothing is known."`
	Series  []TimelineSeries `json:"series" doc:"The 20 entries with the most instances, the largest first; the others together as the last."`
	Entries int              `json:"entries" doc:"How many jobs, users or accounts there are in all."`
	Marks   []TimelineMark   `json:"marks" doc:"What happened, the oldest first; the newest 1,000."`
}

// TimelineSeries is the instances of a job, user or account.
type TimelineSeries struct {
	Key       string    `json:"key" doc:"The job's id, or the user or account; empty for none, and for the others."`
	Name      string    `json:"name,omitempty" doc:"Of the job."`
	Others    int       `json:"others,omitempty" doc:"How many entries it stands for, if for the others."`
	Primary   []float64 `json:"primary" doc:"A mean for each point."`
	Secondary []float64 `json:"secondary" doc:"Those that drain or stop included."`
}

// TimelineMark is what happened in a step.
type TimelineMark struct {
	Point int    `json:"point" doc:"Which step, from 0."`
	Key   string `json:"key" doc:"The job, user or account."`
	Kind  string `json:"kind" enum:"stopped,promoted" doc:"stopped: items that were stopped and are pending again; promoted: secondary instances that became primary."`
	Count int    `json:"count"`
}

// LogMatches are the lines of an attempt's output that have a text.
type LogMatches struct {
	Matches  []LogMatch `json:"matches" doc:"One for each line, in order."`
	Next     int64      `json:"next" doc:"The offset from which to go on, or the size of the output if it is complete."`
	Complete bool       `json:"complete" doc:"The whole output from offset on was searched; false: there were enough lines, or the time of one call was over."`
}

// LogMatch is the first place of a text in a line.
type LogMatch struct {
	Offset     int64  `json:"offset" doc:"Bytes of the stream before it."`
	Line       int64  `json:"line" doc:"The number of the line, from 1."`
	LineOffset int64  `json:"line_offset" doc:"Bytes of the stream before the line."`
	Text       string `json:"text" doc:"The line from there on, 300 bytes at most."`
}

// HistoryReply is what was done on the farm, the newest first.
type HistoryReply struct {
	Events []Event `json:"events"`
	Next   int64   `json:"next" doc:"Give it as before to go on with what is older; 0: there is nothing older. A page may be short, as a bounded number of rows is read for it."`
}

// Fact is one line of an explanation.
type Fact struct {
	Kind string `json:"kind"`
	Code string `json:"code,omitempty" doc:"Of kind refused: why those hosts do not serve the job."`
	Text string `json:"text"`

	Jobs  []int64    `json:"jobs,omitempty" doc:"Jobs that it tells of."`
	Hosts []string   `json:"hosts,omitempty" doc:"Hosts that it tells of; at most 50."`
	Slots int        `json:"slots,omitempty" doc:"Slots that it counts: of kind slots all on the hosts that serve the job, of kind holder those that a job holds of them."`
	Holds *FactHolds `json:"holds,omitempty" doc:"Of kind holder: how it holds them."`
}

// FactHolds are slots by how they are held.
type FactHolds struct {
	Primary   int `json:"primary"`
	Secondary int `json:"secondary"`
	Ending    int `json:"ending" doc:"Of instances that are leaving."`
}
