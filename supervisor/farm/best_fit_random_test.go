package farm_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// TestBestFit is invariant 33: an instance goes to the host with the least memory left that suffices, and of such hosts
// to one with the fewest free slots; it waits only if no host suffices. Each host here could serve each job if it were
// empty: the planner chooses by memory among hosts of equal eligibility only.
func TestBestFit(t *testing.T) {
	waited := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.say("policy placement=best_fit")
		hosts := rapid.IntRange(2, 6).Draw(rt, "hosts")
		for n := range hosts {
			r.say(fmt.Sprintf("host h%d slots=%d mem=%d", n, rapid.IntRange(1, 3).Draw(rt, "slots"), rapid.IntRange(7, 12).Draw(rt, "memory")))
		}
		for range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			need := int64(rapid.IntRange(1, 7).Draw(rt, "need")) << 30
			before := map[facts.HostID]message.HostView{}
			for _, h := range r.farm.View(r.now).Hosts {
				before[h.ID] = h
			}
			r.say(fmt.Sprintf("submit j cpus=1 max=1 items=1-1 reservations=host.memory=%dMB", need>>20))
			job := facts.JobID(len(r.rows.jobs))
			went := facts.HostID("")
			for _, a := range r.rows.attempts {
				if a.Job == job {
					went = a.Host
				}
			}
			if went == "" {
				waited++
			}
			for id, h := range before {
				if h.Slots == h.Used || left(h) < need {
					continue
				}
				chosen, ran := before[went]
				if !ran || left(h) < left(chosen) || (left(h) == left(chosen) && h.Slots-h.Used < chosen.Slots-chosen.Used) {
					rt.Fatalf("%s needed went to %q with %s and %d free slots, %s had %s and %d", rounded(need), went,
						rounded(left(chosen)), chosen.Slots-chosen.Used, id, rounded(left(h)), h.Slots-h.Used)
				}
			}
			if ran := before[went]; went != "" && left(ran) < need {
				rt.Fatalf("%s needed went to %s with %s", rounded(need), went, rounded(left(ran)))
			}
		}
	})
	if waited == 0 {
		t.Error("no instance ever waited for memory")
	}
}

// left is what a host can still promise; nothing runs for long enough here to have memory of its own.
func left(h message.HostView) int64 { return h.Memory - h.Promised }
