package smartshare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestDrawsOdds: a contender whose items are ten times as long is accepted a tenth as often. Over 50,000
// acceptances the share of the long one, 1/11, has a standard deviation of 0.0013; four of them are allowed.
func TestDrawsOdds(t *testing.T) {
	const runs = 50_000
	long := 0
	for n := range runs {
		long += Draws([]float64{1, 10}, 42, uint64(n))
	}
	near(t, "share of the long one", float64(long)/runs, 1.0/11, 4*math.Sqrt(10.0/121/runs))
	if a, b := Draws([]float64{1, 10, 3}, 7, 1, 2), Draws([]float64{1, 10, 3}, 7, 1, 2); a != b {
		t.Error("one question, two answers")
	}
}

// TestInvariant27Odds: whatever the times, each contender gets the slot as often as its odds say, the inverse of its
// time among the inverses of all; so all get the same slot time. Times below LotteryLeast count as that.
func TestInvariant27Odds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Float64Range(0.1, 50), 2, 5).Draw(t, "times")
		seed := rapid.Uint64().Draw(t, "seed")
		const runs = 4000
		got, inverses := make([]float64, len(times)), 0.0
		for n := range runs {
			got[Draws(times, seed, uint64(n))]++
		}
		for _, s := range times {
			inverses += 1 / max(s, LotteryLeast)
		}
		for i, s := range times {
			p := 1 / max(s, LotteryLeast) / inverses
			if off := math.Abs(got[i]/runs - p); off > 6*math.Sqrt(p*(1-p)/runs) {
				t.Fatalf("contender %d of %v was drawn in %v of the cases, its odds are %v", i, times, got[i]/runs, p)
			}
		}
	})
}
