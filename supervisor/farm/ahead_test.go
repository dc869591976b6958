package farm_test

import (
	"slices"
	"strings"
	"testing"

	"qb/supervisor/job/facts"
)

// withNext is a farm of one slot whose instance runs item 4 and holds item 5 ahead.
func withNext(t *testing.T) (r *rig, before, next facts.AttemptID) {
	r = newRig(t)
	r.say("policy short=60s")
	r.say("host a slots=1")
	r.say("submit short items=1-9 max=0")
	for _, item := range []string{"1", "2", "3", "4"} {
		r.say("finish 1/" + item)
	}
	before, next = facts.AttemptID{Job: 1, Item: 4, Number: 1}, facts.AttemptID{Job: 1, Item: 5, Number: 1}
	for _, id := range []facts.AttemptID{before, next} {
		if !r.rows.attempts[id].State.Live() {
			t.Fatalf("%v is not live: %v", id, r.rows.attempts)
		}
	}
	return r, before, next
}

// TestNextThatRunsOnIsNoneThatIsBack: a host that no longer knows of an attempt, and runs the one that was held
// behind it, as after a restore of the database, has that until nothing of it is left.
func TestNextThatRunsOnIsNoneThatIsBack(t *testing.T) {
	r, before, next := withNext(t)
	w := r.workers["a"]
	w.running = []facts.AttemptID{next}
	w.finished = nil
	r.say("slow a")
	r.say("kill 1 items=5")
	if a := r.rows.attempts[before]; a.State != facts.Killed {
		t.Errorf("the item that its host does not know is %s", a.State)
	}
	if a := r.rows.attempts[next]; !a.State.Live() || len(w.running)+len(w.stopping) == 0 {
		t.Errorf("the item that runs on is %s, and the host has %v, %v", a.State, w.running, w.stopping)
	}
	r.say("dies a")
	if out := r.say("finish 1/6"); !strings.Contains(out, "end 1/6#1 done") || !strings.Contains(out, "start 1/7#1") {
		t.Errorf("the item that ran on ends, and then: %s", out)
	}
}

// TestNextThatIsSentAwayGoesThoughItHadBegun: an order to preempt an item that is held ahead comes when its worker has
// begun it. Its row says so, it runs to its end, and its instance takes no further item.
func TestNextThatIsSentAwayGoesThoughItHadBegun(t *testing.T) {
	r, before, next := withNext(t)
	w := r.workers["a"]
	r.say("silent a")
	w.end(before, "exit", 0, "", 1)
	if !slices.Contains(w.running, next) {
		w.running = append(w.running, next)
	}
	r.say("preempt 1 items=6")
	if a := r.rows.attempts[next]; a.Reason != facts.ReasonSentAway || a.State != facts.Running {
		t.Errorf("the row of the item is %s (%s)", a.State, a.Reason)
	}
	out := r.say("heard a")
	if a := r.rows.attempts[next]; a.State != facts.Running || strings.Contains(out, "1/7#1") {
		t.Errorf("the item that runs is %s (%s): %s", a.State, a.Reason, out)
	}
	if out := r.say("finish 1/6"); !strings.Contains(out, "end 1/6#1 done") {
		t.Errorf("it is not done: %s", out)
	}
}

// TestNextIsHandedBackThoughTheClockWasSetBack: items do not stay with an instance, nor in the farm's list of them.
func TestNextIsHandedBackThoughTheClockWasSetBack(t *testing.T) {
	r, _, next := withNext(t)
	r.now = r.now.Add(-3600e9)
	r.say("advance 1s")
	if a := r.rows.attempts[next]; a.State != facts.Preempted || a.Reason != facts.ReasonHandedBack {
		t.Errorf("an hour before it was given the item is %s (%s)", a.State, a.Reason)
	}
}
