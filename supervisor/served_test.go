package supervisor

import (
	"testing"

	"qb/api"
	"qb/supervisor/farm"
)

// TestJobsThatNoHostWouldRunAreRefused: where all items run as one user of the workers, nobody else submits.
func TestJobsThatNoHostWouldRunAreRefused(t *testing.T) {
	t.Parallel()
	agent := farm.HostView{RunAs: "agent", AgentUser: "ann"}
	for _, c := range []struct {
		name  string
		hosts []farm.HostView
		owner string
		taken bool
	}{
		{"no hosts yet", nil, "bea", true},
		{"their own user", []farm.HostView{agent}, "ann", true},
		{"another user", []farm.HostView{agent, agent}, "bea", false},
		{"one host runs items as their owners", []farm.HostView{agent, {RunAs: "owner"}}, "bea", true},
		{"one has not said so yet", []farm.HostView{agent, {}}, "bea", true},
	} {
		s := &server{}
		s.view.Store(newPicture(&farm.View{Hosts: c.hosts}))
		err := s.checkServed(c.owner)
		if c.taken != (err == nil) || err != nil && err.(*api.Error).Kind != api.KindForbidden {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
