package smartshare

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawShares(t *rapid.T, weighted bool) []Share {
	d := dice(rapid.Uint64().Draw(t, "seed"))
	shares := make([]Share, d.roll(1, 6))
	for i := range shares {
		shares[i] = Share{Cap: d.roll(0, 12), Held: d.roll(0, 8), Weight: 1, Rank: i}
		if d.roll(0, 3) == 0 {
			shares[i].Floor = d.roll(0, shares[i].Held)
		}
		if weighted {
			shares[i].Weight = float64(d.roll(1, 16)) / 8
		}
	}
	return shares
}

func floorsOf(shares []Share) (sum int) {
	for _, s := range shares {
		sum += s.Floor
	}
	return sum
}

// TestWaterFillConserves: floors stay, caps hold, and slots are left only if all are at their caps.
func TestWaterFillConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, rapid.Bool().Draw(t, "weighted"))
		slots := floorsOf(shares) + rapid.IntRange(0, 40).Draw(t, "slots")
		got := WaterFill(shares, slots)
		full := true
		for i, s := range shares {
			if got[i] < s.Floor || got[i] > max(s.Cap, s.Floor) {
				t.Fatalf("share %+v gets %d", s, got[i])
			}
			full = full && got[i] == max(s.Cap, s.Floor)
		}
		if sum(got) > slots || sum(got) < slots && !full {
			t.Fatalf("%v of %d slots for %+v", got, slots, shares)
		}
	})
}

// TestWaterFillMaxMin: no one has two more than one who could use it, and who holds the odd slot keeps it.
func TestWaterFillMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, false)
		slots := floorsOf(shares) + rapid.IntRange(0, 40).Draw(t, "slots")
		got := WaterFill(shares, slots)
		for a, rich := range shares {
			for b, poor := range shares {
				if got[a] <= rich.Floor || got[b] >= poor.Cap {
					continue
				}
				if got[a] > got[b]+1 {
					t.Fatalf("%v: share %d has %d, share %d has %d", shares, a, got[a], b, got[b])
				}
				if got[a] == got[b]+1 && rich.Held < got[a] && poor.Held > got[b] {
					t.Fatalf("%v: the odd slot goes to share %d, share %d held it", shares, a, b)
				}
				if got[a] == got[b]+1 && (rich.Held < got[a]) == (poor.Held <= got[b]) && poor.Rank < rich.Rank {
					t.Fatalf("%v: the odd slot goes to share %d, share %d comes first", shares, a, b)
				}
			}
		}
	})
}

// TestWaterFillWeights: the steps taken are those of least height, step over weight.
func TestWaterFillWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, true)
		slots := floorsOf(shares) + rapid.IntRange(0, 40).Draw(t, "slots")
		got := WaterFill(shares, slots)
		for a, rich := range shares {
			for b, poor := range shares {
				if got[a] > rich.Floor && got[b] < poor.Cap && float64(got[a])/rich.Weight > float64(got[b]+1)/poor.Weight {
					t.Fatalf("%v: %v, share %d stands higher than share %d would", shares, got, a, b)
				}
			}
		}
	})
}

func TestWaterFillOrderOfInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, rapid.Bool().Draw(t, "weighted"))
		slots := floorsOf(shares) + rapid.IntRange(0, 40).Draw(t, "slots")
		got := WaterFill(shares, slots)
		mixed := rapid.Permutation(shares).Draw(t, "mixed")
		for i, n := range WaterFill(mixed, slots) {
			if n != got[mixed[i].Rank] {
				t.Fatalf("%v: %d for %+v, was %d", shares, n, mixed[i], got[mixed[i].Rank])
			}
		}
	})
}

func TestWaterFillLarge(t *testing.T) {
	shares := make([]Share, 3)
	for i := range shares {
		shares[i] = Share{Cap: MaxCount, Weight: []float64{1, 2, 4}[i], Rank: i}
	}
	if got := WaterFill(shares, 7_000_000); !slices.Equal(got, []int{1_000_000, 2_000_000, 4_000_000}) {
		t.Errorf("%v", got)
	}
}

func TestTurns(t *testing.T) {
	a := Running{Lost: 5, Elapsed: 5, Started: 1}
	b := Running{Lost: 50, Elapsed: 50, Started: 2}
	young := Running{Lost: 5, Elapsed: 5, Started: 3}
	idle := Running{Idle: true, Started: 9}
	order := func(passive bool, list ...Running) []Running {
		slices.SortFunc(list, func(x, y Running) int {
			first, then := VictimOrder(x, passive)
			other, last := VictimOrder(y, passive)
			return cmp.Or(cmp.Compare(first, other), cmp.Compare(then, last))
		})
		return list
	}
	if got := order(false, b, a, young, idle); !slices.Equal(got, []Running{idle, young, a, b}) {
		t.Errorf("aggressive: %v", got)
	}
	if got := order(true, a, young, idle, b); !slices.Equal(got, []Running{idle, b, a, young}) {
		t.Errorf("passive: %v", got)
	}
	if KeepWork(b, false) <= KeepWork(a, false) || KeepWork(b, true) >= KeepWork(a, true) || KeepWork(idle, true) != 0 {
		t.Error("what goes first is worth least")
	}
}
