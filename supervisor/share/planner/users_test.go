package planner

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// steps are the levels that are climbed on the way from a floor to a count, ascending.
func steps(list []float64, floor, count int, weight float64) []float64 {
	for k := floor + 1; k <= count; k++ {
		list = append(list, float64(k)/weight)
	}
	return list
}

// fairer compares two lists of steps: more are better, then lower ones.
func fairer(a, b []float64) int {
	slices.Sort(a)
	slices.Sort(b)
	return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(b, a))
}

// ByUser is what a vector of secondaries means to users, in the order of their first jobs.
type byUser struct {
	users  []float64   // steps of their totals
	totals []int       // by user
	jobs   [][]float64 // by user: steps of his jobs
}

func (f *checked) usersOf(secondaries func(job int) int) (v byUser) {
	var users []string
	for _, j := range f.p.Order {
		if !slices.Contains(users, f.s.Jobs[j].User) {
			users = append(users, f.s.Jobs[j].User)
		}
	}
	for _, user := range users {
		total, floor, weight := 0, 0, 0.0
		var own []float64
		for j := range f.s.Jobs {
			if job := &f.s.Jobs[j]; job.User == user {
				n := secondaries(j)
				total, floor, weight = total+n, floor+f.pinnedOf(j), job.Weight
				own = steps(own, f.pinnedOf(j), n, weight)
			}
		}
		v.users = steps(v.users, floor, total, weight)
		v.totals, v.jobs = append(v.totals, total), append(v.jobs, own)
	}
	return v
}

// eachReachable yields the vectors that can be, with the primaries granted in order, and their fewest stops.
func (x *exact) eachReachable(yield func(v byUser, stops int)) {
	_, _, granted := x.best()
	for v, stops := range x.reach {
		if v&(1<<32-1) == granted && x.surplusAllowed(v) {
			yield(x.f.usersOf(func(j int) int { return x.f.pinnedOf(j) + v.at(secondaryAt(j)) }), stops)
		}
	}
}

func compareJobs(a, b byUser) int {
	for u := range a.jobs {
		if c := fairer(a.jobs[u], b.jobs[u]); c != 0 {
			return c
		}
	}
	return 0
}

// TestUsersModeIsExact compares with the exhaustive search: no division gives the users fairer totals, and
// with these totals none gives the users' jobs fairer parts, user after user in dispatch order.
func TestUsersModeIsExact(t *testing.T) {
	for n, st := range []style{ownUnits, {hosts: true, preempt: []string{"aggressive", "passive"}, owned: true}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			eachFarm(t, st, func(f *checked) {
				got := f.usersOf(func(j int) int { return f.p.Jobs[j].Secondary })
				searchFarm(f).eachReachable(func(v byUser, _ int) {
					if c := fairer(v.users, got.users); c > 0 {
						f.fail("users could have %v, have %v", v.totals, got.totals)
					}
					if slices.Equal(v.totals, got.totals) && compareJobs(v, got) > 0 {
						f.fail("users have %v; their jobs could have %v, have %v", got.totals, v.jobs, got.jobs)
					}
				})
			})
		})
	}
}

// TestUsersModeStopsFewestInOnePool: no division as fair to users, and as fair to the jobs of each, needs
// fewer stops.
func TestUsersModeStopsFewestInOnePool(t *testing.T) {
	eachFarm(t, style{preempt: []string{"aggressive"}, owned: true, weights: true}, func(f *checked) {
		got := f.usersOf(func(j int) int { return f.p.Jobs[j].Secondary })
		best := map[string]byUser{} // by totals: the fairest
		type way struct {
			byUser
			stops int
		}
		var all []way
		searchFarm(f).eachReachable(func(v byUser, stops int) {
			if fairer(v.users, got.users) == 0 {
				key := fmt.Sprint(v.totals)
				if b, known := best[key]; !known || compareJobs(v, b) > 0 {
					best[key] = v
				}
				all = append(all, way{v, stops})
			}
		})
		for _, w := range all {
			if w.stops < len(f.p.Stop) && compareJobs(w.byUser, best[fmt.Sprint(w.totals)]) == 0 {
				f.fail("%d stops, %v needs %d", len(f.p.Stop), w.totals, w.stops)
			}
		}
	})
}

// TestUsersModeFewJobsEach: where every user has one job the mode makes no difference; where one user has
// all and instances are alike, neither.
func TestUsersModeFewJobsEach(t *testing.T) {
	for _, wide := range []bool{false, true} {
		eachFarm(t, style{hosts: true, preempt: anyPreempt, extras: true, wide: wide}, func(f *checked) {
			f.s.Policy.Mode = "jobs"
			want, _ := levels(Balance(f.s))
			f.s.Policy.Mode = "users"
			for _, user := range []string{"", "all"} {
				for j := range f.s.Jobs {
					f.s.Jobs[j].User = cmp.Or(user, f.s.Jobs[j].ID)
				}
				if got, _ := levels(Balance(f.s)); !slices.Equal(got, want) && (user == "" || !wide) {
					f.fail("levels %v by user, %v by job", got, want)
				}
			}
		})
	}
}
