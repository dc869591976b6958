package api

import "time"

// Share is where a user stands, in an account or in none.
type Share struct {
	User       string     `json:"user"`
	Account    string     `json:"account" doc:"Path of the account in the share tree; empty: none."`
	Shares     float64    `json:"shares" doc:"Effective shares, raised by credit."`
	BaseShares float64    `json:"base_shares" doc:"Shares as set, default 1."`
	Entitled   float64    `json:"entitled" doc:"Fraction of the farm, by shares."`
	Received   float64    `json:"received" doc:"Fraction of all counted usage."`
	Usage      ShareUsage `json:"usage"`
	Ahead      float64    `json:"ahead" doc:"Expected further usage of running items, in CPU-equivalent seconds, by the mean of their jobs; the factor includes it."`
	Factor     float64    `json:"factor" doc:"1: unused; 0.5: exactly the share; near 0: far above it."`
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
	Ended    float64      `json:"ended" doc:"Usage of ended attempts; the sum of the decayed values of charged lines."`
	Running  float64      `json:"running" doc:"Usage of running attempts so far."`
	Counted  float64      `json:"counted" doc:"Fraction of all usage in the factor: received, plus the part passed down by the account."`
	HalfLife float64      `json:"half_life_seconds"`
	Rule     string       `json:"rule" enum:"tree,fair_tree"`
	Order    bool         `json:"order" doc:"Whether the factor orders jobs of equal priority now."`
	Points   float64      `json:"multifactor_points" doc:"Points of a factor of 1 in the order multifactor; 0 in other orders."`
	At       time.Time    `json:"at"`
}

// LedgerLine sums a day's ended attempts in CPU-equivalent seconds.
type LedgerLine struct {
	Day      time.Time `json:"day"`
	Charged  bool      `json:"charged" doc:"False: recorded but charged to nobody, such as preempted work."`
	Attempts int64     `json:"attempts"`
	Wall     float64   `json:"wall_seconds"`
	Charge   float64   `json:"charge"`
	Decayed  float64   `json:"decayed" doc:"The value decayed to now."`
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
	Source  string     `json:"source" doc:"The reason, such as a publication or a shot."`
	Date    *time.Time `json:"date,omitempty" doc:"When it starts to count; absent: now."`
	By      string     `json:"by,omitempty"`
	AddedAt *time.Time `json:"added_at,omitempty"`
}

// Account is a path to which its members may charge jobs.
type Account struct {
	Path       string     `json:"path" doc:"Such as show, or show/shot for an account in it."`
	Users      []string   `json:"users,omitempty" maxItems:"1000" doc:"Members. *: everybody."`
	Groups     []string   `json:"groups,omitempty" maxItems:"1000" doc:"Groups whose users are members: those of qbadmin user, and those of the supervisor's machine."`
	DefaultFor []string   `json:"default_for,omitempty" maxItems:"1000" doc:"Members whose jobs name no account. *: everybody without a default of their own."`
	By         string     `json:"by,omitempty"`
	At         *time.Time `json:"at,omitempty"`
}

// PastAccount is an account that was charged and is not known now.
type PastAccount struct {
	Path  string   `json:"path"`
	Users []string `json:"users" doc:"Who was charged in it."`
}

// The endpoints of fairshare.
var (
	ListShares   = Endpoint{"list-shares", "GET", "/v1/shares", ReadOnly, "Where everybody stands by shares and use, by rank"}
	ExplainShare = Endpoint{"explain-share", "GET", "/v1/shares/{user}", ReadOnly, "The sum behind a user's standing, line by line"}
	ShareSet     = Endpoint{"share-settings", "GET", "/v1/share-settings", ReadOnly, "The shares that were set"}
	SetShare     = Endpoint{"set-share", "POST", "/v1/share-settings", Operator, "Give a user or an account its shares"}
	ListAccounts = Endpoint{"list-accounts", "GET", "/v1/accounts", ReadOnly, "The accounts that jobs may name, and their members"}
	PastAccounts = Endpoint{"past-accounts", "GET", "/v1/accounts/past", ReadOnly, "Accounts that were charged and are not known now"}
	AddAccount   = Endpoint{"add-account", "POST", "/v1/accounts", Operator, "Add an account, or members to one"}
	DropAccount  = Endpoint{"remove-account", "POST", "/v1/accounts/remove", Operator, "Remove members of an account or, if none are named, the account"}
	ListCredit   = Endpoint{"list-credit", "GET", "/v1/credits", ReadOnly, "Credit, the latest entry first"}
	AddCredit    = Endpoint{"add-credit", "POST", "/v1/credits", Operator, "Give a user credit"}
)
