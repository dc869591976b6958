package quota

import (
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

func sizeOf(t rapid.TB, row facts.JobFacts) Size {
	needs, err := fit.Read(row, fit.Site{})
	if err != nil {
		t.Fatal(err)
	}
	return SizeOf(&row, 1, &needs)
}

// Each limit refuses by its name what goes beyond it, one owner's jobs count for no other user, and 0 is no limit.
func TestLimits(t *testing.T) {
	some := sizeOf(t, facts.JobFacts{Hosts: []string{"a", "b"}})
	for _, c := range []struct {
		policy Policy
		limit  string
	}{
		{Policy{}, ""}, {Policy{OpenJobs: 1}, LimitOpenJobs}, {Policy{OpenJobs: 2}, ""},
		{Policy{OpenBytes: 2*some.Bytes - 1}, LimitOpenBytes}, {Policy{OpenBytes: 2 * some.Bytes}, ""},
		{Policy{Choices: 3}, LimitChoices}, {Policy{Choices: 4}, ""},
	} {
		q := New()
		q.Add("ann", some)
		other := sizeOf(t, facts.JobFacts{Hosts: []string{"a", "c"}})
		got := q.RefusesJob(c.policy, "ann", other)
		if got == nil && c.limit != "" || got != nil && (got.Limit != c.limit || got.Kind != "limit" || got.Wait == 0) {
			t.Errorf("%+v: refused with %+v, want %q", c.policy, got, c.limit)
		}
		if c.limit != LimitChoices { // two names alone are within 3
			continue
		}
		if got := q.RefusesJob(c.policy, "bob", other); got != nil {
			t.Errorf("bob is refused for ann's jobs: %+v", got)
		}
		if got := q.RefusesJob(c.policy, "ann", some); got != nil {
			t.Errorf("the same choice counts twice: %+v", got)
		}
		if got := q.RefusesChange(c.policy, "ann", some, other); got != nil {
			t.Errorf("a change to another choice of two names is refused: %+v", got)
		}
	}
}

// TestRemoveIsTheOppositeOfAdd: whatever came and went, what is counted is what is there.
func TestRemoveIsTheOppositeOfAdd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type job struct {
			owner string
			size  Size
		}
		q, there := New(), []job(nil)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if len(there) > 0 && rapid.Bool().Draw(rt, "remove") {
				n := rapid.IntRange(0, len(there)-1).Draw(rt, "which")
				q.Remove(there[n].owner, there[n].size)
				there = append(there[:n:n], there[n+1:]...)
				continue
			}
			row := facts.JobFacts{Hosts: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(rt, "hosts")}
			j := job{rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "owner"), sizeOf(rt, row)}
			q.Add(j.owner, j.size)
			there = append(there, j)
		}
		want := New()
		for _, j := range there {
			want.Add(j.owner, j.size)
		}
		if !q.Equal(want) {
			rt.Fatalf("counted %+v, there is %+v", q.Uses(), want.Uses())
		}
	})
}
