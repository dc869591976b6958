package planner

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestByHand: an order by hand moves jobs only among those of their cluster and priority, and a user's own one only among
// the user's; within these it holds, and jobs for which none was set keep their order.
func TestByHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s Snapshot
		s.Policy.DefaultPriority = 2
		if s.Policy.Order = []string{"priority"}; rapid.Bool().Draw(rt, "by owner") {
			s.Policy.Order = []string{"operator", "own_priority"}
		}
		byOwner := s.Policy.ByOwner()
		for range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			s.Jobs = append(s.Jobs, SnapJob{
				User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"), Cluster: rapid.SampledFrom([]string{"/", "/a"}).Draw(rt, "cluster"),
				Priority: rapid.IntRange(1, 2).Draw(rt, "priority"), Global: rapid.Int64Range(-1, 1).Draw(rt, "global"), Submit: rapid.Int64Range(1, 9).Draw(rt, "submit"), Moved: rapid.Bool().Draw(rt, "moved"),
				Operator: rapid.IntRange(0, 2).Draw(rt, "operator"), Fairshare: float64(rapid.IntRange(0, 1).Draw(rt, "fairshare")),
			})
		}
		before := make([]int, len(s.Jobs))
		for n := range before {
			before[n] = n
		}
		before = rapid.Permutation(before).Draw(rt, "order")
		after := s.byHand(slices.Clone(before))
		if !slices.Equal(slices.Sorted(slices.Values(after)), slices.Sorted(slices.Values(before))) {
			rt.Fatalf("%v became %v", before, after)
		}
		for x := range after {
			a, was := &s.Jobs[after[x]], &s.Jobs[before[x]]
			among := func(o *SnapJob) bool { // ordered among each other
				operator := func(j *SnapJob) int { return cmp.Or(j.Operator, s.Policy.DefaultPriority) }
				return a.Cluster == o.Cluster && (byOwner && operator(a) == operator(o) || !byOwner && a.Priority == o.Priority)
			}
			if !among(was) {
				rt.Fatalf("place %d went from job %d to %d, which are not ordered among each other: %v, %v", x, before[x], after[x], before, after)
			}
			for y := x + 1; y < len(after); y++ {
				b := &s.Jobs[after[y]]
				switch {
				case !among(b):
				case a.Global > b.Global, a.Global == b.Global && a.User == b.User && a.Priority == b.Priority && a.Fairshare == b.Fairshare && a.Submit > b.Submit && (a.Moved || b.Moved):
					rt.Fatalf("job %d is before %d: %+v, %+v", after[x], after[y], a, b)
				}
			}
		}
		for n := range s.Jobs {
			s.Jobs[n].Global = 0
		}
		alone := s.byHand(slices.Clone(before))
		for x := range alone {
			if a, was := &s.Jobs[alone[x]], &s.Jobs[before[x]]; a.User != was.User || a.Fairshare != was.Fairshare {
				rt.Fatalf("place %d went to another user, or to another past: %v, %v", x, before, alone)
			}
		}
	})
}
