package farm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"qb/api"
	"qb/smartshare"
	"qb/supervisor/farm"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// printed is the plan that `qb plan` makes of what `qb snapshot` prints.
func printed(t *testing.T, s planner.Snapshot) planner.Plan {
	text, err := json.Marshal(translate.Snapshot(s))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := api.ReadSnapshot(text)
	if err != nil {
		t.Fatalf("qb plan refuses %s: %v", text, err)
	}
	return planner.Decide(&smartshare.Scratch{}, translate.SnapshotOf(&doc))
}

// TestOnePlan: on farms on which all policies act together each plan of the farm is what `qb plan` prints for its
// snapshot: hosts, stops, who gives way and the host that is kept included. The farm makes each start that the plan has
// for now, on that host, each stop, and keeps that host. Two kinds of jobs are left out of the second: those whose
// requirements look at what runs, which an earlier start of the same plan changes, and plans that take more than one commit.
func TestOnePlan(t *testing.T) {
	plans, starts, moved, kept, closes := 0, 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		var made *planner.Plan
		r.policy.Divide = func(scratch *smartshare.Scratch, s planner.Snapshot) planner.Plan {
			divided := planner.Balance(s)
			plan := planner.Decide(scratch, s)
			if diff := cmp.Diff(plan, printed(t, s), cmpopts.EquateEmpty(), cmp.AllowUnexported(planner.Plan{})); diff != "" {
				text, _ := json.Marshal(translate.Snapshot(s))
				rt.Fatalf("the farm's plan and the printed one differ:\n%s\n%s", diff, text)
			}
			plans++
			if plan.Reserved != nil {
				kept++
			}
			made = &plan
			for n, start := range plan.Starts {
				if start.When == planner.Now {
					starts++
				}
				if start.Host != divided.Starts[n].Host {
					moved++
				}
			}
			return plan
		}
		r.planned = func() {
			if made != nil && r.policy.CommitRows == 0 {
				if text := farm.Undone(r.farm, *made); text != "" {
					rt.Fatalf("%s\n%s", text, strings.Join(r.said, "\n"))
				}
			}
			made = nil
		}
		w, hosts := policiesFarm(rt, r)
		for range rapid.IntRange(5, 30).Draw(rt, "steps") {
			policiesStep(rt, w, hosts)
			closing, text := r.farm.ClosesOtherwise(r.now)
			if text != "" {
				rt.Fatalf("%s\n%s", text, strings.Join(r.said, "\n"))
			}
			closes += closing
			view := r.farm.View(r.now)
			if r.policy.CommitRows == 0 && view.Counts.DroppedStarts > 0 {
				rt.Fatalf("%d starts of a plan were not made:\n%s", view.Counts.DroppedStarts, strings.Join(r.said, "\n"))
			}
		}
	})
	if plans == 0 || starts == 0 || moved == 0 || kept == 0 || closes == 0 {
		t.Errorf("%d plans with %d starts, %d of them on another host than divided, %d with a host that is kept, and %d instances "+
			"that close at their item's end: the farms are too tame", plans, starts, moved, kept, closes)
	}
}
