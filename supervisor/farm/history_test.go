package farm_test

import (
	"fmt"
	"slices"
	"testing"

	"qb/supervisor/job/facts"
)

// checkHistory holds for every batch of every test: no instance is stopped, relabelled or sent away without
// a line of history that says why.
func (r *rig) checkHistory(writes []facts.Write) {
	var lines []facts.EventFacts
	see := func(kind string) {
		if r.types != nil {
			r.types[kind] = true
		}
	}
	for _, w := range writes {
		if e, ok := w.(facts.AddEvent); ok {
			lines = append(lines, e.Event)
			see(e.Event.Type)
		}
	}
	r.history = append(r.history, lines...)
	for _, w := range writes {
		switch w := w.(type) {
		case facts.PutJob: // its first version is in the stream as job-submitted
			see("job-submitted")
		case facts.StartAttempt:
			see("item-started")
		case facts.EndAttempt:
			see("item-" + string(w.State))
		case facts.StopAttempt:
			if !slices.ContainsFunc(lines, says(w.ID.Job, w.ID.Item, "stopped")) {
				r.t.Fatalf("%+v has no line of history that says so: %+v", w, lines)
			}
		case facts.RelabelAttempt:
			want := map[facts.Kind]string{facts.Primary: "promoted", facts.Secondary: "demoted"}[w.Kind]
			if !slices.ContainsFunc(lines, says(w.ID.Job, w.ID.Item, want)) {
				r.t.Fatalf("%+v has no line of history that says so: %+v", w, lines)
			}
		}
	}
}

// checkDrains is the same of instances that drain.
func (r *rig) checkDrains() {
	for _, h := range r.farm.View(r.now).Hosts {
		for _, i := range h.Instances {
			if i.State == "draining" && !slices.ContainsFunc(r.history, says(i.Job, i.Attempt.Item, "draining")) {
				r.t.Fatalf("%d.%d drains on %s and no line of history says so", i.Job, i.Number, h.ID)
			}
		}
	}
}

func says(job facts.JobID, item facts.ItemNo, kind string) func(facts.EventFacts) bool {
	return func(e facts.EventFacts) bool {
		return e.Job == job && e.Item == item && e.Instance >= 0 && e.Host != "" && e.Cause != "" && e.Type == kind
	}
}

func TestLocksAreInTheHistory(t *testing.T) {
	r := newRig(t)
	r.say("host a")
	r.say("lock a")
	r.say("lock a") // nothing new
	r.say("unlock a")
	var types []string
	for _, e := range r.history {
		if e.Host == "a" && e.By == "op" {
			types = append(types, e.Type)
		}
	}
	if !slices.Equal(types, []string{"host-locked", "host-unlocked"}) {
		t.Errorf("locking twice and unlocking is told as %v", types)
	}
}

// A drain is decided again by each plan; its item's history hears of it once, and once that it was taken back.
func TestADrainIsToldOnce(t *testing.T) {
	r := newRig(t)
	r.say("policy preempt=passive")
	r.say("host a slots=2")
	r.say("submit one cpus=1 items=1-9")
	for range 5 {
		r.say("submit two cpus=1 max=0 items=1")
		r.say("advance 2s")
		r.say(fmt.Sprintf("kill %d", len(r.rows.jobs)))
		r.say("advance 2s")
	}
	told := map[string]int{}
	for _, e := range r.history {
		told[e.Type]++
	}
	if told["draining"] != 1 || told["kept"] != 1 {
		t.Errorf("the drain of one item and its end are told %d and %d times", told["draining"], told["kept"])
	}
}
