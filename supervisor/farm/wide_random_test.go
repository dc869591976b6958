package farm_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWideJobsComeToRest drives farms of wide and narrow jobs through random lives. After every event, once
// everything has settled and no plan is due, a plan would start nothing, and the first job in the dispatch order
// that lacks a primary has no host on which one could start.
func TestWideJobsComeToRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.do("policy", []string{"lease=60s", "min_run=3s", "settle=1s",
			"preempt=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "preempt"),
			"primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary")})
		hosts := rapid.IntRange(1, 4).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(1+3*max(0, 1-n), 6).Draw(rt, "slots")))
		}
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "wide") == 0 {
				r.say(fmt.Sprintf("submit w cpus=%d max=%d items=1-%d retrywork=1 priority=%d reservations=host.processors=%s", rapid.IntRange(1, 3).Draw(rt, "cpus"),
					rapid.IntRange(-1, 4).Draw(rt, "max"), rapid.IntRange(1, 9).Draw(rt, "items"), rapid.IntRange(1, 3).Draw(rt, "priority"),
					rapid.SampledFrom([]string{"2", "3", "4", "1+", "2+", "2-4"}).Draw(rt, "slots")))
			} else {
				randomStep(rt, r, hosts)
			}
			if why := r.farm.Restless(r.now); why != "" {
				rt.Fatalf("%s\n%s", why, strings.Join(r.said, "\n"))
			}
		}
		calmDown(rt, r, hosts)
		everythingEnded(rt, r)
	})
}
