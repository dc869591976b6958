package planner

import (
	"slices"
	"testing"

	"qb/supervisor/job/facts"
)

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
// given their best division before bob's, and what these two begin is shared out again. Once that first job has
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

// TestADeviceIsShortForTwoWidthsTogether: two GPUs suffice for a host full of instances that take two of them on three
// of its five slots, and for one full of such as take one on two slots, but not for one of each.
func TestADeviceIsShortForTwoWidthsTogether(t *testing.T) {
	three, two := unitJob("1", "", 1, 1, 0), unitJob("2", "", 2, 1, 0)
	three.Slots, three.Takes, three.Eligible = 3, map[string]int64{"host.gpus": 2}, nil
	two.Slots, two.Takes, two.Eligible = 2, map[string]int64{"host.gpus": 1}, nil
	s := foundFarm("jobs", []SnapJob{three, two}, 5)
	s.Hosts[0].Resources = map[string]int64{"host.gpus": 2}
	if p := Balance(s); len(p.Starts) != 1 || p.Jobs[1].Unplaced != 1 {
		t.Errorf("starts %v, %d primaries of the second have no place", p.Starts, p.Jobs[1].Unplaced)
	}
}

// TestWhoWaitsForAnEndLeavesTheVacantSlots: on host a four slots are about to come free, for which a job of four
// slots an instance waits, and two are free now. A narrow primary starts on one of those and does not wait for the
// one slot that is about to come free on host b.
func TestWhoWaitsForAnEndLeavesTheVacantSlots(t *testing.T) {
	wide, narrow, full := unitJob("1", "", 1, 1, 0), unitJob("2", "", 2, 1, 0), unitJob("3", "", 3, 5, 0)
	wide.Slots, wide.Eligible, narrow.Eligible, full.Eligible = 4, []int{0}, nil, nil
	s := foundFarm("jobs", []SnapJob{wide, narrow, full}, 6, 6)
	s.Hosts[0].Ending, s.Hosts[1].Ending = 4, 1
	for _, id := range []string{"p", "q", "r", "s", "t"} {
		s.Running = append(s.Running, SnapInstance{ID: id, Job: 2, Host: 1, HasItem: true})
	}
	if p := Balance(s); len(p.Starts) != 2 || p.Starts[1] != (PlannedStart{Job: 1, Host: 0}) {
		t.Errorf("starts %v", p.Starts)
	}
}

// TestWhatIsAlikeAfterPackingIsDividedAtOnce: while the wide job waits for its primary, shapes differ and are packed,
// which moves one instance at a time: D would need two to move, A's to b and C's to c. Once the wide job has started
// only instances of one slot are left to be divided, and exactly; the balance that starts it says so already.
func TestWhatIsAlikeAfterPackingIsDividedAtOnce(t *testing.T) {
	wide := unitJob("W", "", 1, 1, 0, 3)
	wide.Slots = 2
	s := foundFarm("jobs", []SnapJob{wide, unitJob("D", "", 2, 1, 2, 0), unitJob("A", "", 3, 1, 2, 0, 1), unitJob("C", "", 4, 1, 2, 1, 2)}, 3, 2, 1, 2)
	for n, r := range []SnapInstance{{Job: 1}, {Job: 2}, {Job: 2, Kind: facts.Secondary}, {Job: 3, Host: 1}, {Job: 3, Host: 1, Kind: facts.Secondary}} {
		r.ID, r.HasItem = string(rune('p'+n)), true
		s.Running = append(s.Running, r)
	}
	p := Balance(s)
	for j, want := range []int{0, 1, 1, 1} {
		if got := p.Jobs[j].Secondary; got != want {
			t.Errorf("job %s gets %d secondaries, want %d", s.Jobs[j].ID, got, want)
		}
	}
	if again := Balance(applied(s, p)); len(again.Stop)+len(again.Starts) > 0 {
		t.Errorf("a second balance stops %v and starts %v", again.Stop, again.Starts)
	}
}

// TestAPrimaryThatIsHastenedLeavesItsRoom: a primary of A takes the licence and the host of one of C's, then goes to
// host b, which is free now. B, which may use host a alone, starts there with the licence of C's other secondary; when
// its turn was, it had found no room.
func TestAPrimaryThatIsHastenedLeavesItsRoom(t *testing.T) {
	s := foundFarm("jobs", []SnapJob{unitJob("A", "", 1, 1, 0, 0, 1), unitJob("B", "", 2, 1, 0, 0), unitJob("C", "", 3, 1, -1, 0, 2)}, 1, 1, 3)
	s.Resources = map[string]int64{"license.nuke": 3}
	for j := range s.Jobs {
		s.Jobs[j].Takes = map[string]int64{"license.nuke": 1}
	}
	s.Hosts[2].Up = false
	for n, host := range []int{2, 2, 0} {
		r := SnapInstance{ID: string(rune('p' + n)), Job: 2, Host: host, HasItem: true, LostWork: 9 - 3*float64(n)}
		if n > 0 {
			r.Kind = facts.Secondary
		}
		s.Running = append(s.Running, r)
	}
	p := Balance(s)
	if p.Jobs[0].Unplaced+p.Jobs[1].Unplaced > 0 || len(p.Stop) != 2 {
		t.Errorf("starts %v, stops %v", p.Starts, p.Stop)
	}
	if again := Balance(applied(s, p)); len(again.Stop)+len(again.Starts) > 0 {
		t.Errorf("a second balance stops %v and starts %v", again.Stop, again.Starts)
	}
}

// TestWhatGoesFreeIsWhatWasPromised: A's secondary was promised more, or less, memory than A's instances ask for now.
// B, which lacks a primary, takes its place if just that much is enough, and stops no instance in vain.
func TestWhatGoesFreeIsWhatWasPromised(t *testing.T) {
	for _, c := range []struct{ asks, promised, stops int64 }{{asks: 1, promised: 4, stops: 1}, {asks: 4, promised: 1, stops: 0}} {
		s := foundFarm("jobs", []SnapJob{unitJob("A", "", 2, 1, 2), unitJob("B", "", 1, 1, 0)}, 3)
		s.Jobs[0].Memory, s.Jobs[1].Memory, s.Jobs[0].Eligible, s.Jobs[1].Eligible = c.asks, 4, nil, nil
		s.Hosts[0].Memory = 1 + c.promised + 1
		s.Running = []SnapInstance{{ID: "p", HasItem: true, Memory: 1}, {ID: "q", Kind: facts.Secondary, HasItem: true, Memory: c.promised}}
		if p := Balance(s); int64(len(p.Stop)) != c.stops || p.Jobs[1].Primary != len(p.Stop) {
			t.Errorf("promised %d: stops %v, starts %v", c.promised, p.Stop, p.Starts)
		}
	}
}

// TestStartsThatWaitMakeRoomForAnother: eight instances start on eight slots, five of which are about to come free. The
// last one finds room only if others move, of which some wait for such slots. The search for the cheapest moves took
// for granted that no start waits yet, and did not end.
func TestStartsThatWaitMakeRoomForAnother(t *testing.T) {
	s := foundFarm("users", []SnapJob{unitJob("A", "ada", 1, 3, -1), unitJob("B", "ada", 1, 2, -1), unitJob("C", "bob", 1, 0, -1, 0, 2),
		unitJob("D", "bob", 1, 2, -1, 4)}, 2, 0, 2, 2, 2)
	s.Policy.Order = []string{"cluster", "id"}
	s.Jobs[1].Cluster, s.Hosts[0].Cluster, s.Hosts[4].Cluster = "/film", "/film", "/film"
	s.Hosts[0].Ending, s.Hosts[2].Ending, s.Hosts[3].Ending = 2, 1, 2
	for j := range s.Jobs {
		s.Jobs[j].Agenda = j == 2
	}
	s.Jobs[0].Eligible, s.Jobs[1].Eligible = nil, nil
	s.Running = []SnapInstance{{ID: "p", Host: 1, HasItem: true}}
	p := Balance(s)
	for j, want := range [][2]int{{3, 0}, {2, 0}, {0, 2}, {2, 0}} {
		if got := [2]int{p.Jobs[j].Primary, p.Jobs[j].Secondary}; got != want {
			t.Errorf("job %s gets %v primaries and secondaries, want %v", s.Jobs[j].ID, got, want)
		}
	}
}

// TestSecondariesOfAUserStartInTheirTurn: on host b one slot too few is free for all that is to start there. The narrow
// job's secondary starts before the wide job's of the same user, so the wide job would wait, and it goes to
// host a.
func TestSecondariesOfAUserStartInTheirTurn(t *testing.T) {
	narrow, wide := unitJob("1", "ada", 3, 3, 4, 1), unitJob("2", "ada", 1, 1, 2)
	wide.Slots, wide.Eligible = 2, nil
	s := foundFarm("users", []SnapJob{narrow, wide}, 5, 6)
	s.Hosts[0].Ending, s.Hosts[1].Ending = 1, 1
	s.Hosts[0].Memory, s.Hosts[1].Memory = 24, 23 // so that it begins with host a for the wide job
	vacant := []int{4, 5}
	for _, start := range Balance(s).Starts {
		if vacant[start.Host] -= s.Jobs[start.Job].Slots; vacant[start.Host] < 0 {
			t.Errorf("%+v waits for an end", start)
		}
	}
}

// TestWhatStaysLeavesItsRoom: E's three primaries push A's secondary, which was promised little, off host a; when one
// of them then goes to host d, A's stays after all, and there is room for another of A's beside it.
func TestWhatStaysLeavesItsRoom(t *testing.T) {
	s := foundFarm("jobs", []SnapJob{unitJob("A", "", 2, 1, 3, 0), unitJob("E", "", 1, 3, 0, 0, 1, 3)}, 2, 1, 1, 2)
	s.Policy.Preempt, s.Policy.Promote = "passive", false
	for j, memory := range []int64{4, 5} {
		s.Jobs[j].Memory, s.Jobs[j].Remaining = memory, 3
	}
	for h, memory := range []int64{6, 5, 1, 10} {
		s.Hosts[h].Memory = memory
	}
	s.Running = []SnapInstance{{ID: "p", Host: 2, HasItem: true}, {ID: "q", Kind: facts.Secondary, HasItem: true, Memory: 2},
		{ID: "r", Job: 1, Host: 1, Kind: facts.Secondary, HasItem: true}}
	if p := Balance(s); p.Jobs[0].Secondary != 2 || p.Jobs[1].Primary != 3 || !slices.Equal(p.Stop, []int{2}) {
		t.Errorf("starts %v, stops %v", p.Starts, p.Stop)
	}
}
