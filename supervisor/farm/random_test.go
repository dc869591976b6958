package farm_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

// TestNothingLostNothingDoubled drives a farm through random lives. The rows refuse a doubled item by
// themselves and Check looks at the farm after every event; at the end everything that may run must have
// run, and every item that is complete must have exactly one done attempt.
func TestNothingLostNothingDoubled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.do("policy", []string{"lease=60s", "min_run=3s", "settle=1s", "commit=" + fmt.Sprint(rapid.SampledFrom([]int{0, 0, 2, 9}).Draw(rt, "commit")),
			"preempt=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "preempt"),
			"primary=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "primary"),
			"suspend=" + rapid.SampledFrom([]string{"keep", "release"}).Draw(rt, "suspend"),
			"short=" + rapid.SampledFrom([]string{"0s", "60s"}).Draw(rt, "short")})
		hosts := rapid.IntRange(1, 3).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d", n, rapid.IntRange(1, 4).Draw(rt, "slots")))
		}
		r.asked(rt)
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			randomStep(rt, r, hosts)
		}
		r.unplanned = nil
		calmDown(rt, r, hosts)
		everythingEnded(rt, r)
	})
}

func randomStep(rt *rapid.T, r *rig, hosts int) {
	job := func() string { return fmt.Sprint(rapid.IntRange(1, max(1, len(r.rows.jobs))).Draw(rt, "job")) }
	host := fmt.Sprintf("h%d", rapid.IntRange(0, hosts-1).Draw(rt, "host"))
	switch verb := rapid.SampledFrom([]string{"submit", "submit", "finish", "finish", "finish", "fail", "kill", "retry", "redo", "block", "unblock",
		"modify", "interrupt", "preempt", "crash", "advance", "silent", "heard", "reboot", "restart", "wipe", "slow", "dies", "lock", "unlock",
		"suspend", "suspend", "resume", "resume", "moves", "stands"}).Draw(rt, "verb"); verb {
	case "submit":
		r.say(fmt.Sprintf("submit j cpus=%d max=%d items=1-%d retrywork=1 priority=%d", rapid.IntRange(1, 3).Draw(rt, "cpus"),
			rapid.IntRange(-1, 4).Draw(rt, "max"), rapid.SampledFrom([]int{1, 3, 9, 30}).Draw(rt, "items"), rapid.IntRange(1, 3).Draw(rt, "priority")))
	case "finish", "fail":
		finishOne(rt, r, verb == "fail")
	case "modify":
		r.say(fmt.Sprintf("modify %s cpus=%d max=%d", job(), rapid.IntRange(1, 4).Draw(rt, "cpus"), rapid.IntRange(-1, 5).Draw(rt, "max")))
	case "kill", "retry", "redo", "block", "unblock", "interrupt", "preempt", "suspend", "resume":
		r.say(verb + " " + job())
	case "crash":
		r.say("crash")
	case "advance":
		r.say(fmt.Sprintf("advance %ds", rapid.IntRange(1, 90).Draw(rt, "seconds")))
	default:
		r.say(verb + " " + host)
	}
}

func finishOne(rt *rapid.T, r *rig, fail bool) {
	for _, w := range r.sortedWorkers() {
		if moves := w.moves(); len(moves) > 0 && !w.silent {
			id := moves[rapid.IntRange(0, len(moves)-1).Draw(rt, "which")]
			exit := 0
			if fail {
				exit = 1
			}
			r.say(fmt.Sprintf("end %s %d/%d exit=%d", w.host, id.Job, id.Item, exit))
			return
		}
	}
}

// calmDown ends all trouble and lets the farm finish.
func calmDown(rt *rapid.T, r *rig, hosts int) {
	for n := range hosts {
		for _, verb := range []string{"dies", "heard", "unlock", "stands"} {
			r.say(fmt.Sprintf("%s h%d", verb, n))
		}
	}
	for id := range len(r.rows.jobs) {
		r.say(fmt.Sprintf("unblock %d", id+1))
		r.say(fmt.Sprintf("resume %d", id+1))
	}
	r.say("advance 120s") // whatever a wiped worker held is lost by now
	for round := 0; ; round++ {
		if round > 400 {
			rt.Fatal("the farm does not finish")
		}
		moved := false
		for _, w := range r.sortedWorkers() {
			for _, id := range w.moves() {
				w.end(id, "exit", 0, "", 5)
				moved = true
			}
		}
		r.settle()
		if !moved {
			if r.say("advance 15s"); idle(r) {
				return
			}
		}
	}
}

func idle(r *rig) bool {
	for _, w := range r.workers {
		if len(w.running)+len(w.stopping) > 0 {
			return false
		}
	}
	return true
}

func everythingEnded(rt *rapid.T, r *rig) {
	done := map[facts.JobID]int{}
	for id, a := range r.rows.attempts {
		if a.State.Live() {
			rt.Fatalf("%v is still %s", id, a.State)
		}
		if a.State == facts.Done {
			done[id.Job]++
		}
	}
	for _, j := range r.farm.View(r.now).Jobs {
		if !r.rows.jobs[j.ID].State.Final() {
			rt.Fatalf("job %d is %s: %+v %s", j.ID, j.Status, j.Items, j.Reason)
		}
		if j.Items.Complete != done[j.ID] {
			rt.Fatalf("job %d counts %d complete items, its rows %d", j.ID, j.Items.Complete, done[j.ID])
		}
	}
}
