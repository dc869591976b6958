package gate

import (
	"testing"

	"qb/api"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
)

// TestUnmarkedAttribute: an attribute of which nobody has said what it decides needs the right of those that decide what runs.
func TestUnmarkedAttribute(t *testing.T) {
	ada := &Object{Job: Job{ID: 1, Owner: "ada"}, rights: api.UserRights}
	operator := credentials.Principal{User: "ops", Role: api.Operator, Rights: api.Operator.Rights(api.UserRights)}
	owner := credentials.Principal{User: "ada", Role: api.User, Rights: api.UserRights}
	unmarked := &facts.Attribute{Name: "new"}
	if err := mayGive(operator, unmarked, ada); api.Refusal(err).Kind != api.KindForbidden || api.Refusal(err).Member != "new" {
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
