package farm

import "testing"

// Farms on which the random ones of make sim-share found a rule broken, made as small as they go.

// unitJob is a job of a hundred items, each on one slot.
func unitJob(id, user string, priority, cpus, max int, hosts ...int) SnapJob {
	return SnapJob{ID: id, User: user, Priority: priority, Cluster: "/", CPUs: cpus, MaxCPUs: &max, Remaining: 100, Agenda: true,
		Slots: 1, Weight: 1, Fairshare: 1, Eligible: hosts}
}

func foundFarm(mode string, jobs []SnapJob, slots ...int) Snapshot {
	s := Snapshot{Now: 1000, Cluster: "/", Jobs: jobs, Policy: SharePolicy{Mode: mode, Preempt: "aggressive", DefaultMaxCPUs: -1,
		MaxCPUsLimit: 100, ShareUnit: "slots", Promote: true, Order: []string{"priority", "cluster", "fairshare", "vtime", "age", "id"}}}
	for h, n := range slots {
		s.Hosts = append(s.Hosts, SnapHost{Name: string(rune('a' + h)), Slots: n, Memory: -1, Cluster: "/", Up: true})
	}
	return s
}

// TestUsersAreDividedInTheSameOrderAgain: ada's first job is first in the dispatch order, so that her jobs are
// given their best division before bob's, and what these two begin is shared out anew. Once that first job has
// all it asks for the division has nothing to do for it, and must not begin with bob now.
func TestUsersAreDividedInTheSameOrderAgain(t *testing.T) {
	s := foundFarm("users", []SnapJob{unitJob("1", "ada", 1, 1, 0, 2), unitJob("2", "bob", 2, 1, -1, 1), unitJob("3", "bob", 2, 1, -1, 0),
		unitJob("4", "ada", 3, 1, -1, 0), unitJob("5", "ada", 3, 1, -1, 1)}, 7, 5, 1)
	p := Balance(s)
	for j, want := range []int{0, 1, 3, 2, 2} {
		if got := p.Jobs[j].Secondary; got != want {
			t.Errorf("job %s gets %d secondaries, want %d", s.Jobs[j].ID, got, want)
		}
	}
	if again := Balance(applied(s, p)); len(again.Stop)+len(again.Starts) > 0 {
		t.Errorf("a second balance stops %v and starts %v", again.Stop, again.Starts)
	}
}
