package farm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/farm"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// TestInvariant39ReplayGivesTheSamePlan: two farms that live through the same events, terms that end among them, write
// the same rows and come to the same plan, though one is asked questions all the time; and what the rows make of a farm
// does not depend on their order.
func TestInvariant39ReplayGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := "lease=60s min_run=3s settle=1s preempt=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "preempt") +
			" short=" + rapid.SampledFrom([]string{"0s", "60s"}).Draw(rt, "short") + " primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary")
		r, again := newRig(t), newRig(t)
		r.do("policy", strings.Fields(first))
		hosts := rapid.IntRange(1, 4).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(1, 6).Draw(rt, "slots")))
		}
		r.asked(rt)
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			randomStep(rt, r, hosts)
		}
		again.do("policy", strings.Fields(first))
		for _, line := range r.said {
			again.say(line)
		}
		if a, b := wordsOf(r), wordsOf(again); a != b {
			rt.Fatalf("the same events give\n%s\nand\n%s", a, b)
		}
		forward, backward := r.rows.facts(), r.rows.facts()
		slices.Reverse(backward.Jobs)
		slices.Reverse(backward.Hosts)
		for n := range backward.Jobs {
			slices.Reverse(backward.Jobs[n].Attempts)
		}
		if a, b := planOf(rt, r, forward), planOf(rt, r, backward); a != b {
			rt.Fatalf("rows in another order give\n%s\nnot\n%s", b, a)
		}
	})
}

// wordsOf are the rows of a rig and what its farm would do next.
func wordsOf(r *rig) string {
	var text strings.Builder
	r.rows.show(&text)
	snapshot := r.farm.Snapshot(r.now)
	plan, _ := json.Marshal(planner.Balance(snapshot))
	shown, _ := json.Marshal(snapshot)
	return fmt.Sprintf("%s%s\n%s", &text, shown, plan)
}

// planOf is what a term that begins with these rows sees and would do, once it has heard the hosts.
func planOf(rt *rapid.T, r *rig, given facts.Facts) string {
	f, err := farm.Rebuild(r.policy, given, r.now)
	if err != nil {
		rt.Fatal(err)
	}
	for _, w := range r.sortedWorkers() {
		f.Step(r.now, w.sync(r.newTicket()))
	}
	snapshot := f.Snapshot(r.now)
	plan, _ := json.Marshal(planner.Balance(snapshot))
	shown, _ := json.Marshal(snapshot)
	return fmt.Sprintf("%s\n%s", shown, plan)
}
