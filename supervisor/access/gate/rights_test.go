package gate

import (
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/job/facts"
)

// TestUnmarkedAttribute: changing an attribute without a declared effect needs the right for attributes that decide
// what runs.
func TestUnmarkedAttribute(t *testing.T) {
	ada := &Object{Job: Job{ID: 1, Owner: "ada"}, rights: api.UserRights}
	operator := credentials.Principal{User: "ops", Role: api.Operator, Rights: api.Operator.Rights(api.UserRights)}
	owner := credentials.Principal{User: "ada", Role: api.User, Rights: api.UserRights}
	unmarked := &facts.Attribute{Name: "new"}
	if err := mayGive(operator, unmarked, ada); api.Refusal(err).Kind != api.KindForbidden ||
		api.Refusal(err).Member != "new" {
		t.Errorf("an operator gives an attribute without a mark: %v", err)
	}
	if err := mayGive(owner, unmarked, ada); err != nil {
		t.Error(err)
	}
	owner.Rights &^= api.MaySubmit
	if err := mayGive(owner, unmarked, ada); api.Refusal(err).Kind != api.KindForbidden {
		t.Errorf("who may submit nothing any more decides what runs: %v", err)
	}
	if err := mayGive(owner, &facts.Attribute{Name: "priority", Effect: facts.Offers}, ada); err != nil {
		t.Error(err)
	}
}

// TestRefusalNames: each refusal for a missing right or for another user's job, at every endpoint and action, names the
// caller, the missing right, and how an admin gives it. It never proposes a right that the caller has.
func TestRefusalNames(t *testing.T) {
	ada := &Object{Job: Job{ID: 7, Owner: "ada"}, access: "owner"}
	rights := []api.Rights{0, api.MaySee, api.UserRights &^ api.MayKill, api.UserRights, api.Operator.Rights(0)}
	callers := []credentials.Principal{{User: "worker", Role: api.Worker, Token: "abc"}}
	for n, role := range []api.Role{api.User, api.ReadOnly, api.User, api.User, api.Operator} {
		callers = append(callers, credentials.Principal{User: "bob", Role: role, Rights: rights[n]},
			credentials.Principal{User: "bob", Role: role, Rights: rights[n], Token: "abc"})
	}
	refused := 0
	for _, p := range callers {
		for _, e := range api.Endpoints {
			for _, action := range actionsOf(e) {
				err := Authorise(p, e, action, ada)
				if err == nil {
					continue
				}
				refused++
				text, need := err.Error(), e.Right(action)
				if !strings.Contains(text, p.User+" (role "+string(p.Role)+")") {
					t.Errorf("%s %s: who is refused? %s", e.ID, action, text)
				}
				lacking := !p.Rights.Has(need) && p.Rights != 0 && p.Role != api.Worker && e.Role != api.Worker
				if lacking && !strings.Contains(text, "the right "+need.String()) {
					t.Errorf("%s %s: which right? %s", e.ID, action, text)
				}
				if !strings.Contains(text, "qbadmin ") && !strings.Contains(text, "qbusers -set -") &&
					!strings.Contains(text, "QB_TOKEN_FILE") {
					t.Errorf("%s %s: where is it given? %s", e.ID, action, text)
				}
				if p.Rights.Has(api.MaySudo) && strings.Contains(text, "-role operator") {
					t.Errorf("%s %s: an operator is to become one: %s", e.ID, action, text)
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d refusals were looked at", refused)
	}
}

// actionsOf returns the actions of an endpoint, or a single empty action if it has none.
func actionsOf(e api.Endpoint) []string {
	if e.ID == api.OrderJob.ID || e.ID == api.OrderJobs.ID {
		return []string{"kill", "retry", "redo", "top", "suspend"}
	}
	return []string{""}
}
