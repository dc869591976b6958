package planner

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestByHand: an order by hand moves jobs only among those of their cluster and priority, and a user's own one only among
// the user's; within these it holds, and jobs for which none was set keep their order.
func TestByHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s Snapshot
		for range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			s.Jobs = append(s.Jobs, SnapJob{
				User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"), Cluster: rapid.SampledFrom([]string{"/", "/a"}).Draw(rt, "cluster"),
				Priority: rapid.IntRange(1, 2).Draw(rt, "priority"), Global: rapid.Int64Range(-1, 1).Draw(rt, "global"), Submit: rapid.Int64Range(1, 9).Draw(rt, "submit"), Moved: rapid.Bool().Draw(rt, "moved"),
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
			if a.Cluster != was.Cluster || a.Priority != was.Priority {
				rt.Fatalf("place %d went from job %d to %d, of another cluster or priority: %v, %v", x, before[x], after[x], before, after)
			}
			for y := x + 1; y < len(after); y++ {
				b := &s.Jobs[after[y]]
				switch {
				case a.Cluster != b.Cluster || a.Priority != b.Priority:
				case a.Global > b.Global, a.Global == b.Global && a.User == b.User && a.Submit > b.Submit && (a.Moved || b.Moved):
					rt.Fatalf("job %d is before %d: %+v, %+v", after[x], after[y], a, b)
				}
			}
		}
		for n := range s.Jobs {
			s.Jobs[n].Global = 0
		}
		alone := s.byHand(slices.Clone(before))
		for x := range alone {
			if s.Jobs[alone[x]].User != s.Jobs[before[x]].User {
				rt.Fatalf("place %d went to another user: %v, %v", x, before, alone)
			}
		}
	})
}
