package api

import (
	"net/http"
	"time"
)

// The endpoints of users.
var (
	ListPeople = Endpoint{"list-users", http.MethodGet, "/v1/users", Admin, "List the users that were added, by name"}
	AddPerson  = Endpoint{"add-user", http.MethodPost, "/v1/users", Admin, "Add a user"}
	GetPerson  = Endpoint{"get-user", http.MethodGet, "/v1/users/{user}", ReadOnly,
		"One user; without the role admin only oneself"}
	ChangePerson = Endpoint{"set-user", http.MethodPatch, "/v1/users/{user}", Admin,
		"Change a user; another role, or being disabled, ends the user's tokens"}
	RemovePerson = Endpoint{"remove-user", http.MethodDelete, "/v1/users/{user}", Admin, "Remove a user, whose tokens end"}
	Invite       = Endpoint{"invite-user", http.MethodPost, "/v1/users/{user}/invite", Admin,
		"Make a code by which a user logs in once"}
	Login = Endpoint{"login", http.MethodPost, "/v1/login", ReadOnly,
		"Exchange the code of an invitation for a token"}
	BeginSSO = Endpoint{"sso-begin", http.MethodPost, "/v1/login/sso", Anyone,
		"Begin a login by single sign-on: a code that a person enters at the farm's provider"}
	FinishSSO = Endpoint{"sso-login", http.MethodPost, "/v1/login/sso/token", Anyone,
		"Ask whether the person has logged in at the provider, and get a token then"}
	OwnTokens = Endpoint{"list-own-tokens", http.MethodGet, "/v1/login/tokens", ReadOnly,
		"List the caller's tokens without their secrets, the newest first"}
	RevokeOwn = Endpoint{"revoke-own-token", http.MethodDelete, "/v1/login/tokens/{token}", ReadOnly,
		"Revoke one of the caller's tokens"}
)

// PersonRequest adds a user.
type PersonRequest struct {
	Name     string   `json:"name" maxLength:"255" doc:"As in the jobs: on a farm that root started, an account of the hosts."`
	Role     string   `json:"role" enum:"read-only,user,operator,admin"`
	Groups   []string `json:"groups,omitempty" maxItems:"20" doc:"Groups of users that the user belongs to."`
	Leads    []string `json:"leads,omitempty" maxItems:"20" doc:"Groups whose members' jobs the user may change."`
	SubmitAs []string `json:"submit_as,omitempty" maxItems:"20" doc:"Users for whom the user may submit. *: all but root, the service's account, operators and admins."`
	Rights   []string `json:"rights,omitempty" maxItems:"40" doc:"Rights instead of those of the role. admin needs the role admin, sudo the role operator or admin. Nobody gives rights that he has not."`
}

// PersonChange names what shall be different.
type PersonChange struct {
	Role     *string   `json:"role,omitempty" enum:"read-only,user,operator,admin"`
	Groups   *[]string `json:"groups,omitempty" maxItems:"20"`
	Leads    *[]string `json:"leads,omitempty" maxItems:"20"`
	SubmitAs *[]string `json:"submit_as,omitempty" maxItems:"20"`
	Rights   *[]string `json:"rights,omitempty" maxItems:"40" doc:"Rights instead of those before. With a role alone the user has the rights of that role."`
	Disabled *bool     `json:"disabled,omitempty" doc:"Whether every request of the user is refused."`
}

// Person is a user whom an admin added.
type Person struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Groups    []string  `json:"groups"`
	Leads     []string  `json:"leads"`
	SubmitAs  []string  `json:"submit_as"`
	Rights    []string  `json:"rights" doc:"What the user may do: those of the role, unless own_rights."`
	OwnRights bool      `json:"own_rights" doc:"Whether the user has rights instead of those of the role."`
	Disabled  bool      `json:"disabled"`
	Sealed    bool      `json:"sealed" doc:"false: the entry was changed in the database by other means than qb, and the user is refused."`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
}

// PersonReply says which user was removed.
type PersonReply struct {
	Name    string `json:"name"`
	Removed bool   `json:"removed"`
}

// InviteRequest asks for a code by which a user logs in once.
type InviteRequest struct {
	TTLSeconds int `json:"ttl_seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long the code works; default an hour, at most 7 days."`
}

// LoginRequest comes with the code of an invitation in the place of a token.
type LoginRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"How the token shall be called, such as ada@ws12."`
	Days int    `json:"days,omitempty" minimum:"0" doc:"Lifetime in days; default 90 or supervisor_token_days if that is less; at most supervisor_token_days."`
}

// SSOBegun is a login by single sign-on that waits for a person. After RFC 8628, by which the supervisor asks the
// provider.
type SSOBegun struct {
	DeviceCode      string    `json:"device_code" doc:"For the next calls. A secret: whoever has it may get the token."`
	UserCode        string    `json:"user_code" doc:"What the person enters."`
	URL             string    `json:"verification_uri" doc:"Where the person enters it."`
	FullURL         string    `json:"verification_uri_complete,omitempty" doc:"The same with the code in it, if the provider has that."`
	ExpiresAt       time.Time `json:"expires_at"`
	IntervalSeconds int       `json:"interval_seconds" doc:"To wait between two calls."`
}

// SSORequest asks for the token of a login by single sign-on.
type SSORequest struct {
	DeviceCode string `json:"device_code" minLength:"1" maxLength:"4096"`
	Name       string `json:"name" minLength:"1" maxLength:"100" doc:"How the token shall be called, such as ada@ws12."`
	Days       int    `json:"days,omitempty" minimum:"0" doc:"Lifetime in days; default and maximum are supervisor_oidc_token_days, or supervisor_token_days if that is less."`
}

// SSOReply is the token, or that the person has not logged in yet.
type SSOReply struct {
	Pending  bool        `json:"pending"`
	SlowDown bool        `json:"slow_down,omitempty" doc:"Wait 5 s longer between calls from now on."`
	Token    *TokenReply `json:"token,omitempty"`
}
