package farm_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestProgramsKeepTheirSlots: whatever people and items do, a host never has more items and programs than slots, as its
// worker sees it. Programs may take long to end.
func TestProgramsKeepTheirSlots(t *testing.T) {
	waited, revived := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy cpu_share=" + rapid.SampledFrom([]string{"off", "stride"}).Draw(rt, "cpu_share"))
		r.say("host a slots=2")
		r.say("host b slots=1")
		jobs := 0
		full := func() {
			for _, w := range r.workers {
				if has := len(w.running) + len(w.stopping) + len(w.programs.there); has > w.slots {
					rt.Fatalf("%s has %d slots, and %v, %v and the programs %v there\n%s", w.host, w.slots, w.running, w.stopping,
						w.programs.there, strings.Join(r.said, "\n"))
				}
			}
		}
		r.planned = full
		for range rapid.IntRange(10, 40).Draw(rt, "steps") {
			said := r.say(drawProgramStep(rt, r, &jobs))
			waited += strings.Count(said, "gets: waiting") + strings.Count(said, "gets: blocked")
			full()
		}
		for _, w := range r.workers {
			revived += w.programs.revived
		}
	})
	if !testing.Short() && (waited == 0 || revived == 0) {
		t.Errorf("%d programs waited, %d took an item after that", waited, revived)
	}
}

// drawProgramStep is something that happens to a farm with load-once jobs.
func drawProgramStep(rt *rapid.T, r *rig, jobs *int) string {
	job := rapid.IntRange(1, max(1, *jobs)).Draw(rt, "job")
	switch step := rapid.IntRange(0, 9).Draw(rt, "step"); {
	case *jobs < 2 || step == 0 && *jobs < 8:
		*jobs++
		line := fmt.Sprintf("submit j%d items=1-4 max=0 cpus=%d retrywork=1 retrydelay=5", *jobs, rapid.IntRange(1, 2).Draw(rt, "cpus"))
		if rapid.IntRange(0, 3).Draw(rt, "type") > 0 {
			line += " type=loadonce"
		}
		if *jobs > 1 && rapid.Bool().Draw(rt, "waits") {
			line += fmt.Sprintf(" after=link-complete-work-%d", *jobs-1)
		}
		return line
	case step < 6:
		for _, w := range r.sortedWorkers() {
			if len(w.running) > 0 && rapid.Bool().Draw(rt, "here") {
				id := rapid.SampledFrom(w.running).Draw(rt, "item")
				how := rapid.SampledFrom([]string{"", "", "", " exit=1", " dies"}).Draw(rt, "how")
				return fmt.Sprintf("finish %d/%d%s", id.Job, id.Item+1, how)
			}
		}
		return "advance 1s"
	case step == 6:
		return rapid.SampledFrom([]string{"slow", "dies"}).Draw(rt, "programs") + " " + rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "host")
	case step == 7:
		return rapid.SampledFrom([]string{"advance 2s", "advance 6s", "advance 31s"}).Draw(rt, "time")
	}
	return fmt.Sprintf("%s %d", rapid.SampledFrom([]string{"block", "unblock", "preempt", "kill", "retry", "suspend", "resume"}).Draw(rt, "order"), job)
}
