package culprit

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

// TestSearchFindsTheOne: whichever job it is, within the bound; of several that break plans by themselves it is one; of
// two that do so together it is one of them; where no job is needed for it there is none.
func TestSearchFindsTheOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "jobs")
		var jobs []facts.JobID
		for id := facts.JobID(0); len(jobs) < n; {
			id += facts.JobID(rapid.IntRange(1, 3).Draw(t, "step"))
			jobs = append(jobs, id)
		}
		bad := map[facts.JobID]bool{}
		for range min(n, rapid.IntRange(0, 4).Draw(t, "bad")) {
			bad[jobs[rapid.IntRange(0, n-1).Draw(t, "which")]] = true
		}
		together := rapid.Bool().Draw(t, "together")
		breaks := func(within func(facts.JobID) bool) bool {
			found := 0
			for id := range bad {
				if within(id) {
					found++
				}
			}
			return found > 0 && (!together || found == len(bad)) || len(bad) == 0
		}
		s, tries := New(jobs), 0
		for {
			v := s.Tried(breaks(s.Within))
			if tries++; tries > bits.Len(uint(n))+5 {
				t.Fatalf("%d tries among %d jobs", tries, n)
			}
			if !v.Over {
				continue
			}
			if len(bad) > 0 && !bad[v.Job] || len(bad) == 0 && (v.Job != 0 || v.Why == "") {
				t.Fatalf("found %+v, bad are %v", v, bad)
			}
			return
		}
	})
	if v := New([]facts.JobID{1}).Tried(false); v != (Verdict{Over: true}) {
		t.Errorf("a plan that works again ends in %+v", v)
	}
}

// TestNoJobIsToBlameForTwo: where plans break with a job and without it, each beside others, no job is.
func TestNoJobIsToBlameForTwo(t *testing.T) {
	s := New([]facts.JobID{1, 2, 3, 4})
	breaks := func() bool { return s.Within(1) && s.Within(2) || s.Within(3) && s.Within(4) }
	for {
		if v := s.Tried(breaks()); v.Over {
			if v.Job != 0 || v.Why != "a plan with job 2 fails, and one without it, too" {
				t.Errorf("found %+v", v)
			}
			return
		}
	}
}
