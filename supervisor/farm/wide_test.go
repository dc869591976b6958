package farm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"qb/supervisor/job/facts"
)

// TestAWideJobAmongAThousandNarrowOnes lets a job of four slots an instance come to a full farm on which a
// thousand narrow jobs wait, of equal priority, and of which the slots never come free together: it starts
// within one item length, under each preemption.
func TestAWideJobAmongAThousandNarrowOnes(t *testing.T) {
	const item = 8 // seconds
	for _, policy := range []string{"primary=disabled", "primary=passive", "preempt=disabled"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.do("policy", []string{policy})
			for n := range 2 {
				r.say(fmt.Sprintf("host h%d slots=4", n))
			}
			for n := range 500 {
				r.do("submit", []string{fmt.Sprint("n", n), "cpus=1", "max=0", "items=1-9"})
			}
			r.settle()
			for range 2 * item { // each slot's item ends at a time of its own, one a second
				r.endAfter(item)
			}
			submitted := r.now
			r.say("submit wide cpus=1 max=0 items=1 reservations=host.processors=4")
			for n := range 500 {
				r.do("submit", []string{fmt.Sprint("m", n), "cpus=1", "max=-1", "items=1-9"})
			}
			r.settle()
			for r.firstStart(501).IsZero() {
				if r.now.Sub(submitted) > item*time.Second {
					t.Fatalf("the wide job waits for %v, an item takes %d s: %s", r.now.Sub(submitted), item, r.say("explain 501"))
				}
				r.endAfter(item)
			}
		})
	}
}

// endAfter lets a second pass and then ends what has run so long, except for jobs that go on; of the first items one a
// second.
func (r *rig) endAfter(seconds int, goOn ...facts.JobID) {
	r.say("advance 1s")
	for _, w := range r.sortedWorkers() {
		for _, id := range slices.Clone(w.running) {
			a := r.rows.attempts[id]
			lead := 0
			if a.StartedAt.Equal(time.Unix(1_000_000, 0)) {
				lead = int(id.Job) % seconds
			}
			if age := int(r.now.Sub(a.StartedAt).Seconds()); age >= seconds-lead && !slices.Contains(goOn, id.Job) {
				w.end(id, "exit", 0, "", float64(age))
			}
		}
	}
	r.settle()
}

// firstStart is when the job's first attempt began, zero if none has.
func (r *rig) firstStart(job facts.JobID) time.Time {
	for id, a := range r.rows.attempts {
		if id.Job == job {
			return a.StartedAt
		}
	}
	return time.Time{}
}
