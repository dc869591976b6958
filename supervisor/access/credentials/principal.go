package credentials

import (
	"strings"
	"time"

	"qb/api"
)

// Principal is who asks: the owner of a token, or the user at the other end of the unix socket.
type Principal struct {
	User string
	Role api.Role
	// Rights are what the credential may do: those of its role, within what the row of its user gives.
	Rights api.Rights
	Token  string // its id; "" for a socket peer
	// HostKey is the key of the worker that a token is bound to: no host with another key takes it. "": a token for
	// hosts that have not enrolled.
	HostKey string

	// Exchange says that the token has counted uses: it may be exchanged for another and is good for nothing else.
	Exchange bool

	// Pending is the host that waits for approval. Until then its token is good for nothing.
	Pending string

	Until time.Time // of the token
	Login bool      // the token was made by a login, or is the code for one: it needs a row of its user

	SessionOf string // of a session in the page, and of the code for one: the credential that it was begun with

	// Of the user's row, if an admin added one.
	Groups   []string
	Leads    []string // groups whose members' jobs the user may change
	SubmitAs []string // users for whom the user may submit
}

// Giver is the token that a session was begun with and ends with, if it was one.
func (p Principal) Giver() (token string, ok bool) {
	return p.SessionOf, p.SessionOf != "" && !strings.Contains(p.SessionOf, " ")
}

// SeesAll says whether commands and output of all others' jobs are shown.
func (p Principal) SeesAll() bool { return p.Rights.Has(api.MaySudo) }

// Sees says whether the command of a job of that owner is shown.
func (p Principal) Sees(owner string) bool { return p.User == owner || p.SeesAll() }

// Credential is the token, or the user of the socket.
func (p Principal) Credential() string {
	if p.Token != "" {
		return p.Token
	}
	return "user " + p.User
}
