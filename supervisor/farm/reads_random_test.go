package farm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// reads are all questions that the farm is asked between two events: term.Machine has no others.
var reads = []struct {
	name string
	ask  func(rt *rapid.T, r *rig)
}{
	{"snapshot", func(_ *rapid.T, r *rig) { r.farm.Snapshot(r.now) }},
	{"what if", func(rt *rapid.T, r *rig) {
		r.farm.SnapshotWith(r.now, []message.JobSubmitted{r.submission(randomWords(rt)), r.submission(randomWords(rt))})
	}},
	{"why it would wait", func(rt *rapid.T, r *rig) { r.farm.ExplainSubmission(r.now, r.submission(randomWords(rt))) }},
	{"check", func(rt *rapid.T, r *rig) { r.farm.CheckSubmission(r.now, r.submission(randomWords(rt))) }},
	{"why", func(rt *rapid.T, r *rig) { r.farm.Explain(r.now, randomJob(rt, r)) }},
	{"hosts of a job", func(rt *rapid.T, r *rig) { r.farm.HostsFor(r.now, randomJob(rt, r)) }},
	{"jobs of a host", func(_ *rapid.T, r *rig) { r.farm.PlacingsOn(r.now, "h0") }},
	{"shares", func(_ *rapid.T, r *rig) { r.farm.Shares(r.now) }},
	{"budgets", func(_ *rapid.T, r *rig) { r.farm.Budgets(r.now) }},
	{"accounts", func(_ *rapid.T, r *rig) { r.farm.Accounts() }},
	{"publications", func(_ *rapid.T, r *rig) { r.farm.Publications() }},
	{"resources", func(_ *rapid.T, r *rig) { r.farm.Resources(r.now) }},
	{"profiles", func(_ *rapid.T, r *rig) { r.farm.Profiles(r.now, facts.ProfileKey{}) }},
}

func randomJob(rt *rapid.T, r *rig) facts.JobID {
	return facts.JobID(rapid.IntRange(1, max(1, len(r.rows.jobs))).Draw(rt, "read job"))
}

func randomWords(rt *rapid.T) []string {
	return []string{"tried", "user=" + rapid.SampledFrom([]string{"u1", "u2", "ada"}).Draw(rt, "user"),
		fmt.Sprintf("cpus=%d", rapid.IntRange(1, 3).Draw(rt, "cpus")), fmt.Sprintf("items=1-%d", rapid.IntRange(1, 9).Draw(rt, "items")),
		"memory=" + rapid.SampledFrom([]string{"0", "1GB", "3GB"}).Draw(rt, "memory")}
}

// ask asks the farm some questions, as of now or of later.
func ask(rt *rapid.T, r *rig) {
	for range rapid.IntRange(0, 2).Draw(rt, "reads") {
		read := rapid.SampledFrom(reads).Draw(rt, "read")
		r.now = r.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 9, 100}).Draw(rt, "later")) * time.Second)
		read.ask(rt, r)
	}
}

// asked has the farm asked after each line, before it plans.
func (r *rig) asked(rt *rapid.T) {
	r.unplanned = func() {
		now := r.now
		ask(rt, r)
		r.now = now
	}
}

// TestReadsRead: whatever a farm is asked, after whatever has happened, planned for or not, it is the same farm
// afterwards, field by field.
func TestReadsRead(t *testing.T) {
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		w, hosts := policiesFarm(rt, r)
		r.asked(rt)
		askNow := r.unplanned
		r.unplanned = func() {
			before := farm.State(r.farm)
			askNow()
			if after := farm.State(r.farm); !slices.Equal(before, after) {
				rt.Fatalf("a question changed the farm:\n%s", cmp.Diff(before, after))
			}
			compared++
		}
		for range rapid.IntRange(3, 15).Draw(rt, "steps") {
			policiesStep(rt, w, hosts)
		}
	})
	t.Logf("%d farms were compared", compared)
	if compared < 100 {
		t.Error("too few")
	}
}
