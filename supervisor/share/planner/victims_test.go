package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// TestVictimsAreInTheirTurn orders many instances, more and fewer of which are alike, and holds the order against
// that of their turns and ids.
func TestVictimsAreInTheirTurn(t *testing.T) {
	d := dice(7)
	times := []float64{0, math.Copysign(0, -1), 0.1, 0.25, 7, 1e9, 1e9 + 1e-6, -3, -0.5}
	for round, size := range []int{2, 10, comparedUpTo, comparedUpTo + 1, 700, 5000, 5000, 5000} {
		for _, passive := range []bool{false, true} {
			s := Snapshot{Now: 1e9 + 2, Jobs: []SnapJob{{}}, Hosts: []SnapHost{{}}}
			for n := range size {
				at := func() float64 {
					if round%2 == 1 {
						return float64(d.roll(-1e9, 1e9)) / 64
					}
					return times[d.roll(0, len(times)-1)]
				}
				id := fmt.Sprint(d.roll(0, 2*size))
				if d.roll(0, 1) == 0 {
					id = "of a long name " + id
				}
				s.Running = append(s.Running, SnapInstance{ID: id, Kind: facts.Secondary, HasItem: n%5 > 0, LostWork: at(), Started: at(), ItemStarted: at()})
			}
			b := &balance{s: &s, passive: passive, kind: make([]facts.Kind, size), gone: make([]bool, size)}
			var got, want []int
			for i := range size {
				b.kind[i] = facts.Secondary
				got, want = append(got, i), append(want, i)
			}
			b.sortVictims(got)
			slices.SortFunc(want, func(x, y int) int {
				first, then := smartshare.VictimOrder(b.running(x), passive)
				other, last := smartshare.VictimOrder(b.running(y), passive)
				return cmp.Or(cmp.Compare(first, other), cmp.Compare(then, last), cmp.Compare(s.Running[x].ID, s.Running[y].ID), cmp.Compare(x, y))
			})
			if !slices.Equal(got, want) {
				t.Errorf("round %d, passive %v: %d instances are in another order than their turns and ids", round, passive, size)
			}
		}
	}
}
