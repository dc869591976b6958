package gate

import (
	"cmp"
	"fmt"
	"strings"

	"qb/api"
	"qb/supervisor/access/credentials"
)

// lacks is the refusal of a request for want of a right: who asked, for what, which right that needs, and where it is
// given.
func lacks(p credentials.Principal, right, needs, given string) error {
	return api.Errorf(api.KindForbidden, "%s (role %s) lacks %s, which %s; %s", p.User, p.Role, right, needs, given)
}

// asked is what an endpoint does, as a refusal names it. The action is the action of an order, "" for other endpoints.
func asked(e api.Endpoint, action string) string {
	if action != "" {
		return "the order " + action + " needs"
	}
	return fmt.Sprintf("%s needs (%s)", e.ID, lowerFirst(e.Summary))
}

// giving is how a user comes to have a right: the role that has it, and the command by which an admin gives it.
func giving(p credentials.Principal, right api.Rights, role api.Role) string {
	way := fmt.Sprintf("qbusers -set -%s %s", right, p.User)
	switch {
	case right == api.MayAdmin:
		role, way = api.Admin, fmt.Sprintf("qbadmin user set %s -role admin", p.User)
	case right == api.MaySudo:
		role, way = api.Operator, fmt.Sprintf("qbadmin user set %s -role operator", p.User)
	case right == 0:
		right, way = api.MayModify, fmt.Sprintf("qbusers -set -modify %s", p.User)
	}
	if p.Token != "" && !p.Login {
		way += fmt.Sprintf(", or a token with qbadmin token create -user %s -role %s", p.User, role)
	}
	return fmt.Sprintf("the role %s has it; an admin gives it with %s", role, way)
}

// lacksRight is the refusal of an endpoint whose right is not among those of the credential.
func lacksRight(p credentials.Principal, e api.Endpoint, action string, need api.Rights) error {
	right := fmt.Sprintf("the right %s", need)
	if need == 0 {
		right = "any right to change jobs"
	}
	return lacks(p, right, asked(e, action), giving(p, need, cmp.Or(e.Role, api.User)))
}

// lacksRole is the refusal of what only workers may do, or of what a worker's token is shown for.
func lacksRole(p credentials.Principal, e api.Endpoint, action string) error {
	given := "use a user's token: QB_TOKEN_FILE, or qb login"
	if e.Role == api.Worker {
		given = "only a worker's own token has it: qbadmin worker token makes one to join with"
	}
	return lacks(p, "the role "+string(e.Role), asked(e, action), given)
}

// lacksOnJob is the refusal of what somebody else's job does not let the user do. Ways are those by which he could be
// let.
func lacksOnJob(p credentials.Principal, o *Object, what string, ways ...string) error {
	ways = append(ways, fmt.Sprintf("the right sudo (an admin: qbadmin user set %s -role operator)", p.User))
	return api.Errorf(api.KindForbidden, "job %d belongs to %s, and %s (role %s) may not %s it. That needs %s",
		o.ID, o.Owner, p.User, p.Role, what, either(ways))
}

// either lists ways of which one is enough.
func either(ways []string) string {
	last := len(ways) - 1
	if last == 0 {
		return ways[0]
	}
	return strings.Join(ways[:last], ", ") + " or " + ways[last]
}

// givingSubmitAs is how a user comes to submit as another.
func givingSubmitAs(p credentials.Principal, owner string) string {
	if credentials.IsService(owner) {
		return fmt.Sprintf("for %s, only the role admin has it (qbadmin user set %s -role admin)", owner, p.User)
	}
	return fmt.Sprintf("an admin gives it with qbadmin user set %s -submitas %s", p.User, owner)
}

// leading is the way of a lead to the jobs of an owner. It names no group: whose groups there are is not for everybody.
func leading(p credentials.Principal, o *Object) string {
	return fmt.Sprintf("to lead a group of %s (an admin: qbadmin user set %s -leads GROUP)", o.Owner, p.User)
}

// permitted is the way by which the owner of a job lets others do something with it.
func permitted(o *Object, letter string) string {
	return fmt.Sprintf("the job's permission (%s: qbmodify -msecurity others=%s %d)", o.Owner, letter, o.ID)
}

// MayHandOut returns an error if a user would give rights to others that the user lacks.
func MayHandOut(p credentials.Principal, rights api.Rights) error {
	lacking := rights &^ p.Rights
	if lacking == 0 {
		return nil
	}
	return api.Errorf(api.KindForbidden, "%s (role %s) lacks the right %s, so %s cannot give it; an admin can", p.User,
		p.Role, lacking, p.User)
}
