package planner_test

import (
	"fmt"

	"qb/supervisor/share/planner"
)

// Two jobs on one host of six slots. Each starts the primaries that it asks for, and the free slots are shared equally.
func ExampleBalance() {
	unbounded := -1
	job := func(id string, num int64) planner.SnapJob {
		return planner.SnapJob{
			ID: id, Num: num, User: "ann", Priority: 100, Submit: num, CPUs: 1, MaxCPUs: &unbounded, Remaining: 50, Agenda: true, Slots: 1,
			Weight: 1, Fairshare: 1,
		}
	}
	plan := planner.Balance(planner.Snapshot{
		Policy: planner.SharePolicy{Mode: "jobs", Preempt: "passive", MaxCPUsLimit: 1000, ShareUnit: "slots", Order: []string{"priority", "age", "id"}},
		Hosts:  []planner.SnapHost{{Name: "vm-1", Slots: 6, Up: true}},
		Jobs:   []planner.SnapJob{job("shot1", 1), job("shot2", 2)},
	})
	for n, j := range plan.Jobs {
		fmt.Println("job", n, "primaries", j.Primary, "secondaries", j.Secondary)
	}
	// Output:
	// job 0 primaries 1 secondaries 2
	// job 1 primaries 1 secondaries 2
}
