package smartshare

import (
	"cmp"
	"slices"
)

// Share is one job's part in a pool.
type Share struct {
	Cap    int     // most secondaries it can use
	Floor  int     // secondaries that stay in any case; a cap below it only stops growth
	Held   int     // secondaries it has, the floor included
	Weight float64 // of its surplus; above zero
	Rank   int     // its place in the dispatch order
}

// WaterFill divides the slots of one pool: among whole numbers between floor and cap the division whose
// sorted levels are lexicographically largest. Where that leaves a choice, the ones that already hold more
// get the odd slots, then the first in the dispatch order. Floors are granted even beyond the slots.
func WaterFill(shares []Share, slots int) []int {
	n := len(shares)
	floors, caps, weights := make([]int, n), make([]int, n), make([]float64, n)
	claims := make([]int, n)
	for i, s := range shares {
		floors[i] = s.Floor
		caps[i] = max(s.Cap, s.Floor)
		weights[i] = s.Weight
		claims[i] = i
	}
	f := newFiller(floors, caps, weights)
	base := f.highest(claims, slots)
	got := make([]int, n)
	free := slots
	for i := range got {
		got[i] = f.at(i, base)
		free -= got[i]
	}
	next, ok := f.above(claims, base)
	if !ok || free <= 0 {
		return got
	}
	var odd []int
	for i := range got {
		if got[i] < caps[i] && f.next(i, got[i]).compare(next) == 0 {
			odd = append(odd, i)
		}
	}
	slices.SortFunc(odd, func(a, b int) int {
		return cmp.Or(cmp.Compare(holder(shares[b], got[b]), holder(shares[a], got[a])),
			cmp.Compare(shares[a].Rank, shares[b].Rank))
	})
	for _, i := range odd[:min(free, len(odd))] {
		got[i]++
	}
	return got
}

// holder is 1 for a share that holds more than n already.
func holder(s Share, n int) int {
	if s.Held > n {
		return 1
	}
	return 0
}
