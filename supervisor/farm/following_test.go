package farm_test

import (
	"strings"
	"testing"

	"qb/smartshare"
	"qb/supervisor/farm"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// TestPlansThatFollow: where each plan asks for another, as many follow an event as may. Then the next one is put off, is
// counted, and an explanation says so. An event is planned for at once.
func TestPlansThatFollow(t *testing.T) {
	r := newRig(t)
	plans, restless := 0, true
	r.policy.Divide = func(scratch *smartshare.Scratch, s planner.Snapshot) planner.Plan {
		plans++
		p := planner.Decide(scratch, s)
		p.Starts, p.Follows = nil, restless
		return p
	}
	r.say("policy lease=60s")
	r.say("host a slots=2")
	for n, line := range []string{"submit j cpus=1 items=1-2", "submit k cpus=1 items=1-2"} {
		plans = 0
		r.say(line)
		if counts := r.farm.View(r.now).Counts; plans != 1+planner.MostFollowing || counts.PlansPutOff < uint64(n+1) || farm.Stale(r.farm) {
			t.Fatalf("%s: %d plans, %d put off, another is due: %v", line, plans, counts.PlansPutOff, farm.Stale(r.farm))
		}
	}
	x, _ := r.farm.Explain(r.now, 1)
	if x.Reason != facts.ReasonNextPlan || !strings.Contains(x.Cause, "put off") {
		t.Errorf("explain: %s %q", x.Reason, x.Cause)
	}
	plans, restless = 0, false
	r.say("advance 1s")
	if plans != 1 {
		t.Errorf("%d plans after a rest, want 1", plans)
	}
	if x, _ = r.farm.Explain(r.now, 1); strings.Contains(x.Cause, "put off") {
		t.Errorf("explain after a plan that asks for no other: %q", x.Cause)
	}
}
