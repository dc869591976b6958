package smartshare

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func returnedOf(values ...float64) *Returned {
	var r Returned
	for _, v := range values {
		r.Add(v)
	}
	return &r
}

// TestReturnedAgreesWithTheList: what the bounded record says is what the whole list says, to one part in
// 64 for a quantile and exactly for the largest, in any order.
func TestReturnedAgreesWithTheList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var peaks []int64
		for range rapid.IntRange(1, 200).Draw(rt, "peaks") {
			peaks = append(peaks, rapid.Int64Range(1, 64<<30).Draw(rt, "peak"))
		}
		rule := MemoryRule{Quantile: rapid.Float64Range(0.01, 1).Draw(rt, "quantile"), Margin: 1, Enough: rapid.IntRange(1, 40).Draw(rt, "enough")}
		given := rapid.Int64Range(0, 64<<30).Draw(rt, "given")
		exact := float64(EstimateMemory(peaks, given, rule))
		var forth, back Returned
		for n, p := range peaks {
			forth.Add(float64(p))
			back.Add(float64(peaks[len(peaks)-1-n]))
		}
		got := forth.Memory(given, true, rule)
		if float64(got) < exact-1 || float64(got) > exact*(1+1.0/classesOfDoubling)+1 {
			rt.Fatalf("%d, exactly %.0f", got, exact)
		}
		if back.Memory(given, true, rule) != got {
			rt.Fatal("the order matters")
		}
		if least := forth.Memory(given, false, rule); least < given || least < got {
			rt.Fatalf("untrimmed %d of %d given, trimmed %d", least, given, got)
		}
		if rule.Quantile = 1; forth.Memory(0, false, rule) != slices.Max(peaks) {
			rt.Fatal("below the largest peak seen")
		}
	})
}

func TestReturnedNumbers(t *testing.T) {
	var hundred []float64
	for n := range 100 {
		hundred = append(hundred, float64(n+1))
	}
	rule := DefaultMemoryRule
	near(t, "N7, none", float64(returnedOf().Memory(0, false, rule)), float64(2*gib), 0)
	near(t, "N7, 1 3 2", float64(returnedOf(1, 3, 2).Memory(0, false, rule)), 3, 0)
	near(t, "N7, hundred", returnedOf(hundred...).Quantile(0.95)*rule.Margin, 104.5, 1e-9)
	near(t, "given, not trimmed", float64(returnedOf(2).Memory(9, false, rule)), 9, 0)
	near(t, "given, trimmed", float64(returnedOf(2).Memory(9, true, rule)), 6, 0)
	near(t, "given, raised", float64(returnedOf(12).Memory(9, false, rule)), 12, 0)
	near(t, "time, none", returnedOf().Seconds(0, 1), 3600, 0)
	near(t, "time, largest", returnedOf(1, 10).Seconds(4, 1), 10, 0)
	near(t, "time, of the oldest", returnedOf(1, 10).Seconds(40, 1), 40, 0)
	if r := returnedOf(-1, 0, math.NaN(), math.Inf(1)); r.Count() != 0 {
		t.Errorf("%d values that are none were taken in", r.Count())
	}
}

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

// TestStrideStaysWithinAnItem is invariant 28: two contenders that always wait differ by no more than an
// item of each at every instant, whatever the estimates were.
func TestStrideStaysWithinAnItem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(rt, "contenders")
		contenders, longest, served := make([]Contender, n), make([]float64, n), make([]float64, n)
		for i := range contenders {
			contenders[i] = Contender{Weight: rapid.Float64Range(0.5, 4).Draw(rt, "weight"), Rank: i}
			longest[i] = rapid.Float64Range(0.1, 20).Draw(rt, "longest")
		}
		for range 200 {
			i := NextByStride(contenders)
			took := longest[i] * rapid.Float64Range(0.5, 1).Draw(rt, "took")
			estimate := rapid.Float64Range(0.1, 3600).Draw(rt, "estimate")
			contenders[i] = contenders[i].Started(estimate).Ended(estimate, took)
			served[i] += took
			for k := range contenders {
				gap := math.Abs(served[i]/contenders[i].Weight - served[k]/contenders[k].Weight)
				if most := longest[i]/contenders[i].Weight + longest[k]/contenders[k].Weight; gap > most+1e-6 {
					rt.Fatalf("%d and %d differ by %.2f, at most %.2f is allowed", i, k, gap, most)
				}
			}
		}
	})
}

// TestNewcomersBankNothing is invariant 29.
func TestNewcomersBankNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var active []Contender
		least := math.Inf(1)
		for range rapid.IntRange(1, 9).Draw(rt, "active") {
			v := rapid.Float64Range(0, 1e6).Draw(rt, "vtime")
			active, least = append(active, Contender{VTime: v, Weight: 1}), min(least, v)
		}
		own := rapid.Float64Range(0, 1e6).Draw(rt, "own")
		if got := (Contender{VTime: own, Weight: 1}).Joined(active).VTime; got < least || got < own {
			rt.Fatalf("joined at %v: own %v, least active %v", got, own, least)
		}
	})
}
