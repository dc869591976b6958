package api

import "net/http"

// The endpoints of the page.
var (
	FarmPage     = Endpoint{"page", http.MethodGet, "/", Anyone, "The farm as a page; it holds no data of the farm"}
	Asset        = Endpoint{"asset", http.MethodGet, "/assets/{hash}/{file}", Anyone, "A file of the page"}
	MakeCode     = Endpoint{"make-code", http.MethodPost, "/v1/codes", ReadOnly, "Make a code that begins one session of the page"}
	BeginSession = Endpoint{"begin-session", http.MethodPost, "/v1/sessions", ReadOnly, "Begin a session of the page with a code or a token"}
	Watch        = Endpoint{"watch", http.MethodGet, "/v1/watch", ReadOnly, "Follow the states of jobs and hosts, and of a job's items; the changes of a moment come together"}
	GetItem      = Endpoint{"get-item", http.MethodGet, "/v1/jobs/{job}/items/{item}", ReadOnly, "One item of a job with its attempts"}
	ItemStates   = Endpoint{"item-states", http.MethodGet, "/v1/jobs/{job}/states", ReadOnly, "The states of all items of a job, a letter each"}
)

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
