package smartshare

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func returnedOf(values ...float64) *Samples {
	var r Samples
	for _, v := range values {
		r.Add(v)
	}
	return &r
}

// exactMemory is the estimate of the model from the whole list of peaks.
func exactMemory(peaks []int64, given int64, rule MemoryRule) float64 {
	sorted := slices.Sorted(slices.Values(peaks))
	estimate := float64(sorted[len(sorted)-1])
	if len(sorted) >= rule.Enough && rule.Quantile < 1 {
		rank := int(math.Ceil(rule.Quantile*float64(len(sorted)) - 1e-9))
		estimate = math.Round(float64(sorted[min(max(rank, 1), len(sorted))-1]) * rule.Margin)
	}
	return max(estimate, float64(given*2/3))
}

// TestSamplesAgreesWithTheList: what the bounded record says is what the whole list says, to one part in
// 64 for a quantile and exactly for the largest, in any order.
func TestSamplesAgreesWithTheList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var peaks []int64
		for range rapid.IntRange(1, 200).Draw(rt, "peaks") {
			peaks = append(peaks, rapid.Int64Range(1, 64<<30).Draw(rt, "peak"))
		}
		rule := MemoryRule{Quantile: rapid.Float64Range(0.01, 1).Draw(rt, "quantile"), Margin: 1, Enough: rapid.IntRange(1, 40).Draw(rt, "enough")}
		given := rapid.Int64Range(0, 64<<30).Draw(rt, "given")
		exact := exactMemory(peaks, given, rule)
		var forth, back Samples
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

func TestSamplesNumbers(t *testing.T) {
	var hundred []float64
	for n := range 100 {
		hundred = append(hundred, float64(n+1))
	}
	rule := MemoryRule{Quantile: 0.95, Margin: 1.1, Enough: 20}
	near(t, "N7, none", float64(returnedOf().Memory(2*gib, true, rule)), float64(2*gib), 0)
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
