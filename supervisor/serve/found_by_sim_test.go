package serve

import (
	"testing"

	"qb/api"
)

// TestReplacedLeaderRefusesNothing: a leader that was replaced and does not know it must not tell a person
// that there is no such job, for its successor may have made it. The simulator heard one say so.
func TestReplacedLeaderRefusesNothing(t *testing.T) {
	r := startRig(t)
	u1 := r.client("u1", api.User)
	after := api.SubmitRequest{Command: []string{"x"}, Dependency: "99"}
	refused(t, api.KindInvalid, u1, api.Submit, nil, after)
	r.store.failCheck.Store(true)
	refused(t, api.KindUnavailable, u1, api.Submit, nil, after)
	r.store.failCheck.Store(false)
}
