package api

import (
	"net/http"
	"time"
)

// The endpoints of users.
var (
	ListPeople   = Endpoint{"list-users", http.MethodGet, "/v1/users", Admin, "List the users that were added, by name"}
	AddPerson    = Endpoint{"add-user", http.MethodPost, "/v1/users", Admin, "Add a user"}
	GetPerson    = Endpoint{"get-user", http.MethodGet, "/v1/users/{user}", ReadOnly, "One user; without the role admin only oneself"}
	ChangePerson = Endpoint{"set-user", http.MethodPatch, "/v1/users/{user}", Admin, "Change a user; another role, or being disabled, ends the user's tokens"}
	RemovePerson = Endpoint{"remove-user", http.MethodDelete, "/v1/users/{user}", Admin, "Remove a user, whose tokens end"}
)

// PersonRequest adds a user.
type PersonRequest struct {
	Name     string   `json:"name" maxLength:"255" doc:"As in the jobs: on a farm that root started, an account of the hosts."`
	Role     string   `json:"role" enum:"read-only,user,operator,admin"`
	Groups   []string `json:"groups,omitempty" maxItems:"20" doc:"Groups of users that the user belongs to."`
	Leads    []string `json:"leads,omitempty" maxItems:"20" doc:"Groups whose members' jobs the user may change."`
	SubmitAs []string `json:"submit_as,omitempty" maxItems:"20" doc:"Users for whom the user may submit. *: all but root, the service's account, operators and admins."`
}

// PersonChange names what shall be different.
type PersonChange struct {
	Role     *string   `json:"role,omitempty" enum:"read-only,user,operator,admin"`
	Groups   *[]string `json:"groups,omitempty" maxItems:"20"`
	Leads    *[]string `json:"leads,omitempty" maxItems:"20"`
	SubmitAs *[]string `json:"submit_as,omitempty" maxItems:"20"`
	Disabled *bool     `json:"disabled,omitempty" doc:"Whether every request of the user is refused."`
}

// Person is a user whom an admin added.
type Person struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Groups    []string  `json:"groups"`
	Leads     []string  `json:"leads"`
	SubmitAs  []string  `json:"submit_as"`
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
