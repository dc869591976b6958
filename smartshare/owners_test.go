package smartshare

import (
	"testing"

	"pgregory.net/rapid"
)

// The invariants of the model that speak of time and memory, by number. 27 is in draw_test.go, 34 to 38 are in package
// fairshare; 28 and 29 (TestStrideKeepsSlotTimeEqual), 30 (TestMemoryIsNeverOverbooked) and 33 (TestBestFit)
// are of the farm.

func TestYieldNeedsMoreThanAnItem(t *testing.T) {
	holder := Contender{VTime: 100, Weight: 1}
	for v, want := range map[float64]bool{100: false, 91: false, 90: false, 89: true} {
		if got := holder.Yields(Contender{VTime: v, Weight: 1}, 10); got != want {
			t.Errorf("waiting at %v: yields %v", v, got)
		}
	}
}

// The estimate is never below the largest peak while the quantile is 1, and an item that ran out of memory is
// tried with more, or not at all.
func TestInvariant32MemoryEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var peaks Samples
		largest := int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "peaks") {
			peak := rapid.Int64Range(1, 1<<40).Draw(t, "peak")
			peaks.Add(float64(peak))
			largest = max(largest, peak)
		}
		estimate := peaks.Memory(0, false, MemoryRule{Quantile: 1, Margin: 1.1, Enough: 20})
		if estimate < largest {
			t.Fatalf("estimate %d below the peak %d", estimate, largest)
		}
		host := rapid.Int64Range(1, 1<<42).Draw(t, "host")
		limit := min(estimate, host)
		raised, ok := AfterOutOfMemory(limit, limit, host)
		if ok && (raised <= limit || raised > host) || !ok && limit < host {
			t.Fatalf("killed at %d of %d: %d, %v", limit, host, raised, ok)
		}
	})
}
