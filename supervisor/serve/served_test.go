package serve

import (
	"testing"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/lead/term"
)

// TestJobsThatNoHostWouldRunAreRefused: where all workers run items as one user, submissions of other users are
// refused.
func TestJobsThatNoHostWouldRunAreRefused(t *testing.T) {
	t.Parallel()
	agent := &message.HostView{RunAs: "agent", AgentUser: "ann"}
	for _, c := range []struct {
		name  string
		hosts []*message.HostView
		owner string
		taken bool
	}{
		{"no hosts yet", nil, "bea", true},
		{"their own user", []*message.HostView{agent}, "ann", true},
		{"another user", []*message.HostView{agent, agent}, "bea", false},
		{"one host runs items as their owners", []*message.HostView{agent, {RunAs: "owner"}}, "bea", true},
		{"one has not said so yet", []*message.HostView{agent, {}}, "bea", true},
	} {
		s := &jobService{backend: &backend{}}
		s.view.Store(term.NewPicture(&message.View{Hosts: c.hosts}))
		err := s.checkServed(c.owner)
		if c.taken != (err == nil) || err != nil && err.(*api.Error).Kind != api.KindForbidden {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
