package api

import "time"

// Share is where a user is, in an account or in none.
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
	Accounts []string     `json:"accounts" doc:"What was charged to these counts here: the account itself, and those that are not known. Where everybody may name any account: all that the user named."`
	Lines    []LedgerLine `json:"lines" doc:"Ended attempts by day, oldest first."`
	Ended    float64      `json:"ended" doc:"Usage of ended attempts; the sum of the decayed values of charged lines."`
	Running  float64      `json:"running" doc:"Usage of running attempts so far."`
	Counted  float64      `json:"counted" doc:"Fraction of all usage in the factor: received, plus the part passed down by the account."`
	HalfLife float64      `json:"half_life_seconds"`
	Rule     string       `json:"rule" enum:"tree,fair_tree"`
	Order    bool         `json:"order" doc:"Whether the factor orders jobs now."`
	ByOwner  bool         `json:"by_owner" doc:"Whether it then ranks owners before the priorities of their jobs do; false: it orders jobs of equal priority."`
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

// AccountsReply answers an order to add many accounts.
type AccountsReply struct {
	Affected int `json:"affected" doc:"Number of accounts that were added or given members."`
}

// PastAccount is an account that was charged and is not known now.
type PastAccount struct {
	Path  string   `json:"path"`
	Users []string `json:"users" doc:"Who was charged in it."`
}

// Budget is what a place in the tree of shares may use.
type Budget struct {
	Path    string     `json:"path" doc:"ada for all use of a user, show/ for an account and those below it, show/ada for a user in it."`
	Seconds float64    `json:"budget_seconds,omitempty" doc:"CPU-equivalent seconds; above 0."`
	Per     int64      `json:"per_seconds,omitempty" doc:"The budget is for what was used in so many seconds before each moment; 0: for usage as it decays."`
	Over    string     `json:"over,omitempty" enum:"wait,idle" doc:"What jobs beyond the budget do. wait (default): they start nothing. idle: they run on slots that nobody else wants."`
	Remove  bool       `json:"remove,omitempty" doc:"Take the budget away."`
	Used    float64    `json:"used_seconds,omitempty" doc:"With what runs."`
	Until   *time.Time `json:"until,omitempty" doc:"Of a budget that is used up: when jobs will fit again if nothing more is used."`
	By      string     `json:"by,omitempty"`
	At      *time.Time `json:"at,omitempty"`
}

// Publication is what a user reports as published.
type Publication struct {
	Source string     `json:"source" doc:"Such as doi:10.1000/182. The ways to write a DOI are one source."`
	User   string     `json:"user,omitempty" doc:"Who reported it."`
	Date   *time.Time `json:"date,omitempty" doc:"Of the publication; absent: now."`
	State  string     `json:"state,omitempty" doc:"reported, accepted or rejected."`
	By     string     `json:"by,omitempty" doc:"Whose word the state is."`
	At     *time.Time `json:"at,omitempty"`
}

// Decision accepts or rejects a publication.
type Decision struct {
	Source string  `json:"source"`
	Accept bool    `json:"accept"`
	Amount float64 `json:"amount,omitempty" doc:"Of the credit for it; absent: 1."`
}

// The endpoints of fairshare.
var (
	ListShares = Endpoint{"list-shares", "GET", "/v1/shares", ReadOnly,
		"Where everybody stands by shares and use, by rank"}
	ExplainShare = Endpoint{"explain-share", "GET", "/v1/shares/{user}", ReadOnly,
		"The sum behind a user's standing, line by line"}
	ShareSet     = Endpoint{"share-settings", "GET", "/v1/share-settings", ReadOnly, "The shares that were set"}
	SetShare     = Endpoint{"set-share", "POST", "/v1/share-settings", Operator, "Give a user or an account its shares"}
	ListAccounts = Endpoint{"list-accounts", "GET", "/v1/accounts", ReadOnly,
		"The accounts that jobs may name, and their members"}
	PastAccounts = Endpoint{"past-accounts", "GET", "/v1/accounts/past", ReadOnly,
		"Accounts that were charged and are not known now"}
	AddAccount  = Endpoint{"add-account", "POST", "/v1/accounts", Operator, "Add an account, or members to one"}
	AddAccounts = Endpoint{"add-accounts", "POST", "/v1/accounts/all", Operator,
		"Add many accounts and members of them, or none if an entry is refused"}
	DropAccount = Endpoint{"remove-account", "POST", "/v1/accounts/remove", Operator,
		"Remove members of an account or, if none are named, the account"}
	ListBudgets = Endpoint{"list-budgets", "GET", "/v1/budgets", ReadOnly, "Budgets and how far they are used up"}
	SetBudget   = Endpoint{"set-budget", "POST", "/v1/budgets", Operator,
		"Give a user or an account a budget, or take it away"}
	Publications = Endpoint{"list-publications", "GET", "/v1/publications", ReadOnly, "What users reported as published"}
	Report       = Endpoint{"report-publication", "POST", "/v1/publications", User, "Report a publication"}
	Decide       = Endpoint{"decide-publication", "POST", "/v1/publications/decide", Operator,
		"Accept or reject a publication; accepted ones give credit"}
	AddCredits = Endpoint{"add-credits", "POST", "/v1/credits/all", Operator,
		"Give credit to many users, or to none if an entry is refused"}
	ListCredit = Endpoint{"list-credit", "GET", "/v1/credits", ReadOnly, "Credit, the latest entry first"}
	AddCredit  = Endpoint{"add-credit", "POST", "/v1/credits", Operator, "Give a user credit"}
)
