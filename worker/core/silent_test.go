package core

import (
	"testing"
	"time"

	"qb/api"
)

// TestSilentSupervisorIsLeft: a supervisor that takes syncs and answers none (a stopped leader) is given up
// for the next address, also while fresh results make the core give up one sync after another. The
// simulator found agents that stayed with it until their leases ended.
func TestSilentSupervisorIsLeft(t *testing.T) {
	c := NewCore(api.Sync{Host: "h"}, DefaultLimits(), 1)
	c.Step(time.Second, Booted{})
	now := time.Second
	for item := 0; now < time.Minute; item++ {
		now += 200 * time.Millisecond
		for _, o := range c.Step(now, ended(item, item, "exit")) {
			if g, ok := o.(GiveUpSync); ok && g.Overdue {
				if waited := now - time.Second; waited > DefaultLimits().Hold+DefaultLimits().Overdue+time.Second {
					t.Errorf("the silent supervisor is left after %s", waited)
				}
				return
			}
		}
	}
	t.Error("the silent supervisor is never left")
}
