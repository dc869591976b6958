package planner

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// drawLimits puts the jobs of some users, and some of their process groups, under limits.
func drawLimits(d *dice, s *Snapshot) {
	s.Limits = map[string]int64{}
	limit := func(j int, name string) {
		if _, drawn := s.Limits[name]; !drawn {
			s.Limits[name] = int64(d.roll(0, 8))
		}
		takes := maps.Clone(s.Jobs[j].Takes)
		if takes == nil {
			takes = map[string]int64{}
		}
		takes[name] = 1
		s.Jobs[j].Takes = takes
	}
	for j := range s.Jobs {
		job := &s.Jobs[j]
		if job.User == "" {
			job.User = fmt.Sprintf("u%d", d.roll(1, 3))
		}
		if job.User != "u3" {
			limit(j, "user:"+job.User)
		}
		if d.chance(50) {
			limit(j, fmt.Sprintf("pgrp:%s/%d", job.User, d.roll(1, 2)))
		}
	}
}

// TestLimitsAreDividedExactly compares farms of one-slot instances, whose users and process groups have limits, with the
// exhaustive search: the same primaries, the same levels, no stop more.
func TestLimitsAreDividedExactly(t *testing.T) {
	eachFarm(t, style{limited: true, preempt: anyPreempt, extras: true}, func(f *checked) {
		compareLimited(f, func(got, want []int, stops, fewest int) {
			f.fail("levels %v with %d stops, want %v with %d", got, stops, want, fewest)
		})
	})
}

// TestLimitsAmongHostLists counts how often farms with host lists are divided as the exhaustive search does.
func TestLimitsAmongHostLists(t *testing.T) {
	farms, other := 0, 0
	eachFarm(t, limited, func(f *checked) {
		farms++
		compareLimited(f, func(got, want []int, _, _ int) {
			other++
			if sumOf(want)-sumOf(got) > 1 {
				f.fail("levels %v, want %v", got, want)
			}
		})
	})
	t.Logf("%d of %d farms are divided otherwise than by the search", other, farms)
	if other*200 > farms {
		t.Errorf("%d of %d farms are divided otherwise than by the search", other, farms)
	}
}

func compareLimited(f *checked, differs func(got, want []int, stops, fewest int)) {
	x := searchFarm(f)
	want, stops, granted := x.best()
	for j, jp := range f.p.Jobs {
		if jp.StartPrimary != granted.at(j) {
			f.fail("job %d gets %d primaries, want %d", j, jp.StartPrimary, granted.at(j))
		}
	}
	if got := x.planLevels(); !slices.Equal(got, want) || len(f.p.Stop) != stops {
		differs(got, want, len(f.p.Stop), stops)
	}
}

func sumOf(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}
