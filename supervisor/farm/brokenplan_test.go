package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"qb/smartshare"
	"qb/supervisor/farm"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// breaking is a farm whose plans break as a test wants.
type breaking struct {
	*rig
	on    func(jobs []string) // panics, or does not; nil: it does not
	plans int                 // that were tried
}

func newBreaking(t *testing.T, on func(jobs []string)) *breaking {
	b := &breaking{rig: newRig(t), on: on}
	b.policy.Divide = func(scratch *smartshare.Scratch, s planner.Snapshot) planner.Plan {
		b.plans++
		var ids []string
		for _, j := range s.Jobs {
			ids = append(ids, j.ID)
		}
		if b.on != nil {
			b.on(ids)
		}
		return planner.Decide(scratch, s)
	}
	b.farm = farm.New(b.policy)
	last := 0
	b.planned = func() {
		if b.plans > last+1 {
			t.Errorf("%d plans in one turn", b.plans-last)
		}
		last = b.plans
	}
	return b
}

func panicsWith(ids ...string) func([]string) {
	return func(jobs []string) {
		for _, id := range ids {
			if !slices.Contains(jobs, id) {
				return
			}
		}
		panic("index out of range [3] with length 3")
	}
}

// filled has hosts and jobs with one item running each.
func (b *breaking) filled(jobs int) *breaking {
	on := b.on
	b.on = nil
	b.say(fmt.Sprintf("host a slots=%d", 2*jobs))
	for n := range jobs {
		b.say(fmt.Sprintf("submit j%d cpus=1 max=0 items=1-5", n+1))
	}
	b.on = on
	return b
}

func (b *breaking) wants(line, want string) {
	b.t.Helper()
	if got := b.say(line); !strings.Contains(got, want) {
		b.t.Errorf("%s: want %q in\n%s", line, want, got)
	}
}

// recorded wants an event in the history.
func (b *breaking) recorded(kind, cause string) {
	b.t.Helper()
	if !slices.ContainsFunc(b.history, func(e facts.EventFacts) bool { return e.Type == kind && e.Cause == cause }) {
		b.t.Errorf("no event %s, %q in %+v", kind, cause, b.history)
	}
}

// TestTheJobOnWhichThePlannerPanicsIsHeld: it is found among many, named and held; all others go on, in the same turns
// of the loop.
func TestTheJobOnWhichThePlannerPanicsIsHeld(t *testing.T) {
	b := newBreaking(t, panicsWith("42")).filled(41)
	before := b.plans
	got := b.say("submit poison cpus=1 max=0 items=1-5")
	if !strings.Contains(got, "event job-blocked job 42 qb: the planner fails on it (index out of range [3] with length 3); change it or update the supervisor, then unblock it") {
		t.Errorf("the job is not named:\n%s", got)
	}
	if tries := b.plans - before; tries > 15 {
		t.Errorf("%d plans were tried for 42 jobs", tries)
	}
	b.wants("submit other cpus=2 max=0 items=1-5", "start 43/1#1 on a as 43.0 primary")
	b.wants("jobs", "job 42 blocked")
	b.wants("unblock 42", "job-blocked job 42")
	b.on = nil // the supervisor was updated
	b.wants("unblock 42", "start 42/1#1")
}

// TestAHeldJobCanBeKilled: the order that takes the culprit away is carried out, whatever plans do.
func TestAHeldJobCanBeKilled(t *testing.T) {
	b := newBreaking(t, panicsWith("3")).filled(2)
	b.say("submit poison cpus=1 max=0 items=1-5")
	b.wants("kill 3", "event job-killed job 3")
	b.wants("submit other cpus=1 max=0 items=1-5", "start 4/1#1")
}

// TestSeveralCulpritsAreHeld: each that breaks plans by itself.
func TestSeveralCulpritsAreHeld(t *testing.T) {
	b := newBreaking(t, nil).filled(20)
	b.on = func(jobs []string) {
		for _, id := range []string{"3", "11", "20"} {
			if slices.Contains(jobs, id) {
				panic("no")
			}
		}
	}
	b.say("submit other cpus=1 max=0 items=1-5")
	for _, id := range []int{3, 11, 20} {
		b.wants("jobs", fmt.Sprintf("job %d blocked", id))
	}
	b.wants("submit another cpus=1 max=0 items=1-5", "start 22/1#1")
}

// TestAJobThatBreaksPlansBesideAnotherIsHeld: one of the two is enough.
func TestAJobThatBreaksPlansBesideAnotherIsHeld(t *testing.T) {
	b := newBreaking(t, panicsWith("2", "9")).filled(12)
	b.say("submit other cpus=1 max=0 items=1-5")
	b.wants("jobs", "job 9 blocked")
	if got := b.say("jobs"); strings.Contains(got, "job 2 blocked") {
		t.Errorf("both are held: %s", got)
	}
	b.wants("submit another cpus=1 max=0 items=1-5", "start 14/1#1")
}

// TestAPlanWithoutEndIsCutOff: too many steps are the same as a panic.
func TestAPlanWithoutEndIsCutOff(t *testing.T) {
	b := newBreaking(t, nil).filled(5)
	b.on = func(jobs []string) {
		for s := new(smartshare.Scratch); slices.Contains(jobs, "6"); s.Spend(1) {
			if s.Spent() == 0 {
				s.Bound(1000)
			}
		}
	}
	b.wants("submit poison cpus=1 max=0 items=1-5", "job-blocked job 6 qb: the planner fails on it (the division takes more than 1000 steps)")
}

// TestAValueThatNoJobCanHaveHoldsTheJob: without a search.
func TestAValueThatNoJobCanHaveHoldsTheJob(t *testing.T) {
	b := newBreaking(t, nil).filled(5)
	before := b.plans
	farm.SpoilCPUs(b.farm, 3, -1)
	b.wants("submit other cpus=1 max=0 items=1-5", "job-blocked job 3 qb: the planner fails on it (cpus -1 is out of bounds)")
	if tries := b.plans - before; tries != 2 {
		t.Errorf("%d plans were tried", tries)
	}
}

// TestWithoutACulpritTheFarmGoesOnWithoutPlans: items follow on items, orders are carried out, and plans are tried
// again after a while or a person's change.
func TestWithoutACulpritTheFarmGoesOnWithoutPlans(t *testing.T) {
	b := newBreaking(t, nil).filled(3)
	b.on = func([]string) { panic("of the farm's own making") }
	b.say("submit more cpus=1 max=0 items=1-5")
	b.recorded("plans-stopped", "plans fail: of the farm's own making; a plan without any job fails, too")
	if why := b.farm.View(b.now).NoPlans; !strings.Contains(why, "of the farm's own making") {
		t.Errorf("the view says %q", why)
	}
	b.wants("finish 1", "start 1/2#1 on a as 1.0 primary")
	b.wants("kill 2", "killed")
	was := b.plans
	b.say("finish 3")
	if b.plans != was {
		t.Error("plans are tried for each end")
	}
	b.say("advance 21s")
	if b.plans == was {
		t.Error("plans are not tried again after a while")
	}
	was = b.plans
	b.say("block 3")
	if b.plans == was {
		t.Error("plans are not tried again after a person's change")
	}
	b.on = nil
	b.say("unblock 3")
	b.recorded("plans-resumed", "")
	if why := b.farm.View(b.now).NoPlans; why != "" {
		t.Errorf("the view still says %q", why)
	}
	b.wants("jobs", "job 4 running")
}

// TestWhatIsKeptOfPlansIsNoReasonToStop: if only the memory of the last plan breaks, no job is held.
func TestWhatIsKeptOfPlansIsNoReasonToStop(t *testing.T) {
	b := newBreaking(t, nil).filled(3)
	once := true
	b.on = func([]string) {
		if once {
			once = false
			panic("once")
		}
	}
	got := b.say("submit more cpus=1 max=0 items=1-5")
	if !strings.Contains(got, "start 4/1#1") || strings.Contains(got, "blocked") || strings.Contains(got, "plans-stopped") {
		t.Errorf("the farm says\n%s", got)
	}
}
