package api

import "time"

// Share is where a user stands, in an account or in none.
type Share struct {
	User       string     `json:"user"`
	Account    string     `json:"account" doc:"Path in the tree of shares; empty for none."`
	Shares     float64    `json:"shares" doc:"As they act, raised by credit."`
	BaseShares float64    `json:"base_shares" doc:"As set, else 1."`
	Entitled   float64    `json:"entitled" doc:"Fraction of the farm, by shares."`
	Received   float64    `json:"received" doc:"Fraction of all that is counted."`
	Usage      ShareUsage `json:"usage"`
	Ahead      float64    `json:"ahead" doc:"CPU-equivalent seconds that running items will yet use by the mean of their jobs; the factor counts them too."`
	Factor     float64    `json:"factor" doc:"1 unused, 0.5 at the share, towards 0 above."`
	Rank       int        `json:"rank" doc:"1 is served first; equal factors have equal ranks."`
	Credit     float64    `json:"credit" doc:"Decayed to now."`
}

// ShareUsage is in CPU-equivalent seconds, decayed to now; running items so far are in it.
type ShareUsage struct {
	CPU     float64 `json:"cpu"`
	RAM     float64 `json:"ram"`
	GPU     float64 `json:"gpu"`
	Scratch float64 `json:"scratch"`
	Total   float64 `json:"total"`
}

// ShareExplanation is the sum behind a user's standing, line by line.
type ShareExplanation struct {
	Share
	Lines    []LedgerLine `json:"lines" doc:"Ended attempts by day, oldest first."`
	Ended    float64      `json:"ended" doc:"Usage of ended attempts as the farm keeps it; the decayed values of charged lines add up to it."`
	Running  float64      `json:"running" doc:"Usage so far of what runs."`
	Counted  float64      `json:"counted" doc:"Fraction of all usage that the factor takes: received, and what the account passes down."`
	HalfLife float64      `json:"half_life_seconds"`
	Rule     string       `json:"rule" enum:"tree,fair_tree"`
	Order    bool         `json:"order" doc:"Whether the factor orders jobs of equal priority now."`
	Points   float64      `json:"multifactor_points" doc:"What a factor of 1 counts in the points of the order multifactor; 0 under other orders."`
	At       time.Time    `json:"at"`
}

// LedgerLine sums a day's ended attempts in CPU-equivalent seconds.
type LedgerLine struct {
	Day      time.Time `json:"day"`
	Charged  bool      `json:"charged" doc:"False: in the books, but paid by nobody, as preempted work."`
	Attempts int64     `json:"attempts"`
	Wall     float64   `json:"wall_seconds"`
	Charge   float64   `json:"charge"`
	Decayed  float64   `json:"decayed" doc:"What is left of it now."`
}

// ShareSetting are the shares of a place in the tree.
type ShareSetting struct {
	Path   string     `json:"path" doc:"ada for a user, show/ for an account, show/ada for a user in it."`
	Shares float64    `json:"shares"`
	By     string     `json:"by,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// Credit is an entry of credit; it raises a user's shares and decays from its date.
type Credit struct {
	User    string     `json:"user"`
	Amount  float64    `json:"amount"`
	Source  string     `json:"source" doc:"What it is for, such as a publication or a shot."`
	Date    *time.Time `json:"date,omitempty" doc:"From when it counts; absent: now."`
	By      string     `json:"by,omitempty"`
	AddedAt *time.Time `json:"added_at,omitempty"`
}

// The endpoints of fairshare.
var (
	ListShares   = Endpoint{"list-shares", "GET", "/v1/shares", ReadOnly, "Where everybody stands by shares and use, by rank"}
	ExplainShare = Endpoint{"explain-share", "GET", "/v1/shares/{user}", ReadOnly, "The sum behind a user's standing, line by line"}
	ShareSet     = Endpoint{"share-settings", "GET", "/v1/share-settings", ReadOnly, "The shares that were set"}
	SetShare     = Endpoint{"set-share", "POST", "/v1/share-settings", Operator, "Give a user or an account its shares"}
	ListCredit   = Endpoint{"list-credit", "GET", "/v1/credits", ReadOnly, "Credit, the latest entry first"}
	AddCredit    = Endpoint{"add-credit", "POST", "/v1/credits", Operator, "Give a user credit"}
)
