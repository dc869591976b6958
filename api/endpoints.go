package api

import (
	"net/http"
	"slices"
	"strings"
)

// Role is what a credential may do at most. Admin may all; operator all but tokens; user changes only his
// own jobs; read-only sees; worker only synchronises.
type Role string

// The roles. Anyone is no credential at all: health, what the endpoints are, and a login by single sign-on.
const (
	Anyone   Role = "anyone"
	ReadOnly Role = "read-only"
	User     Role = "user"
	Operator Role = "operator"
	Admin    Role = "admin"
	Worker   Role = "worker"
)

// Allows says whether a credential of role r may call an endpoint that needs the role need.
func (r Role) Allows(need Role) bool {
	return need == Anyone || r == need || ranks[need] > 0 && ranks[r] >= ranks[need]
}

// ranks orders the roles: each role may do all that the roles of lower rank may do.
var ranks = map[Role]int{ReadOnly: 1, User: 2, Operator: 3, Admin: 4}

// Endpoint is one thing that can be asked.
type Endpoint struct {
	ID      string // operation id
	Method  string
	Path    string // chi and OpenAPI pattern
	Role    Role   // the least that is needed
	Summary string
}

// Keyed says whether the endpoint takes an Idempotency-Key: a call that is repeated under it happens once.
func (e Endpoint) Keyed() bool { return slices.Contains(keyed, e.ID) }

var keyed = []string{Submit.ID, SubmitOpenJD.ID, Modify.ID, OrderJob.ID, LockHost.ID, UnlockHost.ID, ConfirmDead.ID,
	RemoveHost.ID,
	SetShare.ID, AddCredit.ID, AddAccount.ID, AddAccounts.ID, DropAccount.ID, SetBudget.ID, Report.ID, Decide.ID,
	AddCredits.ID, SetProfile.ID, ForgetProfile.ID, ReportResource.ID, RemoveJob.ID, OrderJobs.ID}

// Exchanges says whether the endpoint exchanges a token with counted uses for another. Such a token is good for nothing
// else.
func (e Endpoint) Exchanges() bool {
	return e.ID == Enrol.ID || e.ID == Login.ID || e.ID == BeginSession.ID
}

// NeedsToken says whether a request must show a credential.
func NeedsToken(method, path string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return !slices.ContainsFunc(Endpoints, func(e Endpoint) bool {
		return e.Role == Anyone && e.Method == method && e.has(path)
	})
}

// has says whether the path is one of the endpoint's.
func (e Endpoint) has(path string) bool {
	segments := strings.Split(path, "/")
	for n, want := range strings.Split(e.Path, "/") {
		if n >= len(segments) || segments[n] != want && (want == "" || want[0] != '{' || segments[n] == "") {
			return false
		}
	}
	return len(segments) == strings.Count(e.Path, "/")+1
}

// The endpoints. supervisor/serve/routes.go serves exactly these; the client calls them.
var (
	Submit   = Endpoint{"submit", http.MethodPost, "/v1/jobs", User, "Submit a job"}
	ListJobs = Endpoint{"list-jobs", http.MethodGet, "/v1/jobs", ReadOnly, "List jobs, newest first"}
	GetJob   = Endpoint{"get-job", http.MethodGet, "/v1/jobs/{job}", ReadOnly, "One job"}
	Modify   = Endpoint{"modify-job", http.MethodPatch, "/v1/jobs/{job}", User, "Change a job"}
	OrderJob = Endpoint{"order-job", http.MethodPost, "/v1/jobs/{job}/orders/{action}", User,
		"Kill, retry, requeue, redo, block, unblock, interrupt, preempt, shove, suspend, resume, migrate, retire, top, bottom, complete or fail a job, some of its items, or what instances of it run"}
	RemoveJob = Endpoint{"remove-job", http.MethodDelete, "/v1/jobs/{job}", User,
		"Remove an ended job, its history and its output"}
	OrderJobs = Endpoint{"order-jobs", http.MethodPost, "/v1/orders/{action}", User,
		"Give one order to up to 1,000 jobs, named or chosen by a filter"}
	ListItems = Endpoint{"list-items", http.MethodGet, "/v1/jobs/{job}/items", ReadOnly, "A job's items in agenda order"}
	Attempts  = Endpoint{"list-attempts", http.MethodGet, "/v1/jobs/{job}/attempts", ReadOnly,
		"A job's attempts, by item and number"}
	History = Endpoint{"job-history", http.MethodGet, "/v1/jobs/{job}/history", ReadOnly,
		"What was done to a job, oldest first"}
	Explain = Endpoint{"explain-job", http.MethodGet, "/v1/jobs/{job}/explain", ReadOnly, "Why a job's items wait"}
	ItemLog = Endpoint{"item-log", http.MethodGet, "/v1/jobs/{job}/items/{item}/log", User,
		"Output of an item's attempt; follow waits for more"}
	SessionLog = Endpoint{"session-log", http.MethodGet, "/v1/jobs/{job}/instances/{instance}/log", User,
		"What the programs of a load-once job's instance wrote between two items, and why they ended"}

	ListHosts  = Endpoint{"list-hosts", http.MethodGet, "/v1/hosts", ReadOnly, "List hosts by name"}
	GetHost    = Endpoint{"get-host", http.MethodGet, "/v1/hosts/{host}", ReadOnly, "One host with what runs on it"}
	LockHost   = Endpoint{"lock-host", http.MethodPost, "/v1/hosts/{host}/lock", Operator, "Keep new work from a host"}
	UnlockHost = Endpoint{"unlock-host", http.MethodPost, "/v1/hosts/{host}/unlock", Operator,
		"Let a host take work again"}
	ConfirmDead = Endpoint{"confirm-dead", http.MethodPost, "/v1/hosts/{host}/confirm-dead", Operator,
		"Confirm that nothing runs on the host any more"}
	ApproveHost = Endpoint{"approve-host", http.MethodPost, "/v1/hosts/{host}/approve", Admin,
		"Let a host join that waits for approval"}
	RemoveHost = Endpoint{"remove-host", http.MethodDelete, "/v1/hosts/{host}", Admin,
		"Forget a host, so that another machine may have its name"}

	ReleaseBrake = Endpoint{"release-brake", http.MethodPost, "/v1/brake/release", Operator,
		"Confirm that the hosts that fell silent together are dead, so that their items run elsewhere"}
	Reread = Endpoint{"reread", http.MethodPost, "/v1/reread", Admin,
		"Read the configuration again and take it into force"}
	TestMail = Endpoint{"test-mail", http.MethodPost, "/v1/mail/test", Admin,
		"Send a test mail and say what the mail server answers"}

	GetSnapshot = Endpoint{"snapshot", http.MethodGet, "/v1/snapshot", ReadOnly,
		"The live farm in the form that qb plan reads"}
	Events = Endpoint{"events", http.MethodGet, "/v1/events", ReadOnly,
		"Server-sent events of job, item and host changes"}
	PingFarm = Endpoint{"ping", http.MethodGet, "/v1/ping", ReadOnly, "Who leads, and who you are"}

	CreateToken = Endpoint{"create-token", http.MethodPost, "/v1/tokens", Admin, "Make a token"}
	ListTokens  = Endpoint{"list-tokens", http.MethodGet, "/v1/tokens", Admin, "List tokens without their secrets"}
	RotateToken = Endpoint{"rotate-token", http.MethodPost, "/v1/tokens/{token}/rotate", Admin,
		"Make a token like another, which ends soon"}
	RevokeToken = Endpoint{"revoke-token", http.MethodDelete, "/v1/tokens/{token}", Admin, "Revoke a token"}

	AuditLog = Endpoint{"audit-log", http.MethodGet, "/v1/audit", Admin, "Who did what, from where, newest first"}

	SyncWorker = Endpoint{"sync", http.MethodPost, "/v1/sync", Worker, "A worker says what runs and hears what should"}
	Enrol      = Endpoint{"enrol", http.MethodPost, "/v1/enrol", Worker,
		"A worker gets a token that is bound to its state folder's key"}
	AppendLog = Endpoint{"append-log", http.MethodPost, "/v1/logs", Worker, "A worker ships output"}
	ShipEnds  = Endpoint{"ship-ends", http.MethodPost, "/v1/ends", Worker,
		"A worker ships its end records to the audit that asked for them"}
	ReadEnds = Endpoint{"read-ends", http.MethodGet, "/v1/ends", Operator,
		"Ask all workers for their end records; pages as lines of JSON, as they come"}

	Document     = Endpoint{"openapi", http.MethodGet, "/v1/openapi.yaml", Anyone, "This document"}
	DocumentJSON = Endpoint{"openapi-json", http.MethodGet, "/v1/openapi.json", Anyone, "This document as JSON"}
	Docs         = Endpoint{"docs", http.MethodGet, "/docs", Anyone, "The endpoints as a page to read"}

	Health  = Endpoint{"health", http.MethodGet, "/healthz", Anyone, "200 when jobs can run, else 503"}
	Metrics = Endpoint{"metrics", http.MethodGet, "/metrics", ReadOnly, "Prometheus metrics"}
)

// Endpoints is the whole table.
var Endpoints = []Endpoint{
	Submit, CheckSubmission, SubmitOpenJD, CheckOpenJD, ListJobTypes, GetJobType,
	ListJobs, GetJob, ArchiveJob, OrderOfJobs, OrderOfHosts, Modify,
	RemoveJob, OrderJob, OrderJobs, ListItems, Attempts, History, Explain, WhatIf, TrySubmission, SlotMap, ItemLog,
	SessionLog, ItemPicture,
	ListHosts, GetHost, HostConfiguration, LockHost, UnlockHost, ConfirmDead, ApproveHost, RestartHost, RemoveHost,
	ReleaseBrake, SupervisorConfiguration, Reread, TestMail, GetSnapshot, Events, PingFarm,
	CreateToken, ListTokens, RotateToken, RevokeToken, AuditLog, SyncWorker, Enrol, AppendLog, AppendPicture, ShipEnds,
	ReadEnds, ListShares, ExplainShare, ShareSet, SetShare, ListAccounts, PastAccounts, AddAccount, AddAccounts,
	DropAccount, ListBudgets, SetBudget, Publications, Report, Decide, AddCredits, ListCredit, AddCredit,
	GetStats, ListProfiles, SetProfile, ForgetProfile, ListResources, ReportResource,
	ListPeople, AddPerson, GetPerson, ChangePerson, RemovePerson, Invite, Login, BeginSSO, FinishSSO, OwnTokens, RevokeOwn,
	FarmPage, Asset, MakeCode, BeginSession, ProveServer, Watch, ItemStates, ItemValues, GetItem, Timeline, FarmHistory,
	FindInLog,
	Document, DocumentJSON, Docs, Health, Metrics,
}
