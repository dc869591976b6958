package farm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// rowsOf counts the rows of a commit by itself, and the most that any event of these tests writes.
func rowsOf(b outbox.Batch) (n int) {
	for _, w := range b.Writes {
		switch w := w.(type) {
		case facts.ChangeMarks:
			n += len(w.Remove) + len(w.Add)
		case facts.ReopenAttempts:
			n += len(w.Attempts)
		default:
			n++
		}
	}
	return n
}

// bounded makes a rig whose commits have at most so many rows, and counts them.
func bounded(t *testing.T, rows, slack int, policy ...string) (r *rig, commits *int) {
	r, commits = newRig(t), new(int)
	r.policy.OrderRows = rows / 2
	r.do("policy", append([]string{fmt.Sprintf("commit=%d", rows), "limit=100000", "lease=60s"}, policy...))
	r.settle()
	r.taken = func(b outbox.Batch) {
		*commits++
		if n := rowsOf(b); n > rows+slack {
			t.Fatalf("a commit of %d rows, at most %d are right", n, rows+slack)
		}
	}
	return r, commits
}

// A farm that is filled from empty, lost as a whole, cancelled or divided again does it over commits of bounded size,
// and what one event makes the farm write at once is bounded as well.
func TestEachCommitIsBounded(t *testing.T) {
	const hosts, slots, rows = 20, 16, 60
	r, commits := bounded(t, rows, 2*slots+8, "min_run=0s", "settle=0s")
	for n := range hosts {
		r.do("host", []string{fmt.Sprintf("h%02d", n), fmt.Sprintf("slots=%d", slots)})
	}
	r.settle()
	live := func() (n int) {
		for _, a := range r.rows.attempts {
			if a.State.Live() {
				n++
			}
		}
		return n
	}
	atLeast := func(what string, least int) {
		t.Helper()
		if *commits < least {
			t.Errorf("%s took %d commits, at least %d are right", what, *commits, least)
		}
		*commits = 0
	}
	*commits = 0
	r.say("submit a cpus=3 items=1-5000")
	if live() != hosts*slots {
		t.Fatalf("%d attempts are live on %d slots", live(), hosts*slots)
	}
	atLeast("filling", hosts*slots/rows)
	r.say("submit b cpus=200 items=1-5000 user=u2") // stops and starts, one for one
	if live() != hosts*slots {
		t.Fatalf("%d attempts are live after a second job", live())
	}
	atLeast("dividing anew", 200*3/rows)
	r.say("modify 1 cpus=100") // promotions
	atLeast("promoting", 97*2/rows)
	for n := range hosts {
		r.do("silent", []string{fmt.Sprintf("h%02d", n)})
	}
	r.say("advance 40s") // the brake
	r.say("advance 600s")
	r.say("advance 600s")
	for range 10 {
		r.say("advance 1s")
	}
	if live() != 0 {
		t.Fatalf("%d attempts are live on hosts that were lost", live())
	}
	atLeast("losing all hosts", hosts*slots/rows)
	for n := range hosts {
		r.do("heard", []string{fmt.Sprintf("h%02d", n)})
	}
	r.settle()
	if live() != hosts*slots {
		t.Fatalf("%d attempts are live after all hosts came back", live())
	}
	atLeast("filling again", hosts*slots/rows)
	r.say("kill 1")
	r.say("kill 2")
	if live() != 0 {
		t.Fatalf("%d attempts are live after both jobs were killed", live())
	}
	atLeast("cancelling", hosts*slots*2/rows)
}

// Children that wait for a job's end are freed over several commits, also by the next term.
func TestManyChildrenAreFreed(t *testing.T) {
	for _, crash := range []bool{false, true} {
		r, commits := bounded(t, 20, 20)
		r.say("host h slots=1")
		r.say("submit parent cpus=1 items=1")
		for n := range 100 {
			r.say(fmt.Sprintf("submit child%d cpus=1 items=1 after=1", n))
		}
		*commits = 0
		if crash {
			plans := 0
			r.planned = func() {
				if plans++; plans == 4 { // what it had not handed over yet is forgotten
					r.crash()
				}
			}
		}
		r.say("finish 1")
		r.settle()
		if *commits < 10 {
			t.Errorf("crash %v: all children in %d commits", crash, *commits)
		}
		for _, j := range r.rows.jobs {
			if j.State == facts.Blocked {
				t.Fatalf("crash %v: job %d waits for ever", crash, j.ID)
			}
		}
	}
}

// A plan over many commits makes the same starts as one in a single commit, in the same order, while nothing else
// happens.
func TestBoundedPlanIsTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var lives [2][]string
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			return fmt.Sprintf("submit j cpus=%d max=%d items=1-%d priority=%d", rapid.IntRange(1, 6).Draw(rt, "cpus"),
				rapid.IntRange(-1, 12).Draw(rt, "max"), rapid.IntRange(1, 40).Draw(rt, "items"), rapid.IntRange(1, 3).Draw(rt, "priority"))
		}), 1, 8).Draw(rt, "jobs")
		hosts, slots := rapid.IntRange(1, 6).Draw(rt, "hosts"), rapid.IntRange(1, 6).Draw(rt, "slots")
		preempt := "preempt=" + rapid.SampledFrom([]string{"aggressive", "passive", "disabled"}).Draw(rt, "preempt")
		memory := rapid.SampledFrom([]string{"", " mem=8"}).Draw(rt, "memory")
		rows := rapid.IntRange(2, 20).Draw(rt, "rows")
		for n, commit := range []int{0, rows} {
			r := newRig(t)
			for h := range hosts {
				r.do("host", strings.Fields(fmt.Sprintf("h%d slots=%d%s", h, slots, memory)))
			}
			r.settle()
			r.do("policy", []string{preempt, fmt.Sprintf("commit=%d", commit)})
			for _, s := range steps {
				r.do("submit", strings.Fields(s)[1:])
			}
			r.taken = func(b outbox.Batch) {
				for _, w := range b.Writes {
					if start, ok := w.(facts.StartAttempt); ok {
						lives[n] = append(lives[n], fmt.Sprintf("%v %v %v %v", start.Attempt.AttemptID, start.Attempt.Host, start.Attempt.Instance, start.Attempt.Kind))
					}
				}
			}
			r.settle()
		}
		if !slices.Equal(lives[0], lives[1]) {
			rt.Fatalf("in one commit:\n%v\nin commits of %d rows:\n%v", lives[0], rows, lives[1])
		}
	})
}

// The work of one step is bounded too: what a tick or a plan writes in a large farm does not grow with it.
func TestStepsAreBounded(t *testing.T) {
	r, _ := bounded(t, 100, 100)
	for n := range 100 {
		r.do("host", []string{fmt.Sprintf("h%03d", n), "slots=32"})
	}
	r.settle()
	r.do("submit", []string{"a", "cpus=1", "items=1-10000"})
	r.now = r.now.Add(time.Second)
	r.farm.Plan(r.now)
	if n := rowsOf(r.farm.Take(r.now)); n > 100 {
		t.Fatalf("one plan wrote %d rows, its half of a commit has 50", n)
	}
}

// A commit is bounded in bytes as well: a few large jobs fill it.
func TestCommitIsBoundedInBytes(t *testing.T) {
	r := newRig(t)
	n := 0
	for ; !r.farm.Full(); n++ {
		if n == 100 {
			t.Fatal("100 jobs of 1 MB do not fill a commit")
		}
		r.step(message.JobSubmitted{Facts: facts.JobFacts{Name: "j", User: "u", Command: []string{"true"}, CPUs: 1, Env: map[string]string{"A": strings.Repeat("x", 1<<20)}}})
	}
	if n > 8 {
		t.Errorf("%d jobs of 1 MB in one commit", n)
	}
	r.farm.Take(r.now)
	if r.farm.Full() {
		t.Error("it is full after it was taken")
	}
}

// TestEndedJobsAreBoundedByTheirItems: what the farm knows of each item of jobs that have ended has its limit, too.
func TestEndedJobsAreBoundedByTheirItems(t *testing.T) {
	const jobs, items, most = 80, 1_000_000, 256 << 20
	f, now := farm.New(message.Policy{}), time.Unix(1e9, 0)
	for id := range facts.JobID(jobs) {
		f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{User: "u", Agenda: agenda.Spec{Range: fmt.Sprintf("1-%d", items)}}})
		f.Step(now, message.JobAction{Job: id + 1, Action: facts.Kill, By: "u"})
		f.Take(now)
	}
	held := f.View(now).Jobs
	if len(held) == 0 || held[len(held)-1].State != facts.KilledJob {
		t.Fatalf("the last of %d jobs is not among those in memory: %d", jobs, len(held))
	}
	if len(held)*items*4 > most {
		t.Errorf("%d ended jobs of %d items each are in memory; at 4 bytes an item they take more than %d", len(held), items, most)
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}
