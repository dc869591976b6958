package smartshare

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The invariants of the model that speak of shares, time and memory, by number. 27 is in draw_test.go, 36 in
// sharetree_test.go; 28 and 29 (TestStrideKeepsSlotTimeEqual), 30 (TestMemoryIsNeverOverbooked) and 33 (TestBestFit)
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
		var peaks Returned
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

func TestInvariant34And35UsageDecays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		halfLife := rapid.Float64Range(1, 1e6).Draw(t, "half-life")
		u := Usage{rapid.Float64Range(0, 1e9).Draw(t, "value"), 0}
		often := u
		for i := range 10 {
			at := halfLife * float64(i+1) / 10
			often = Usage{often.Read(at, halfLife), at}
		}
		if v := u.Read(halfLife, halfLife); math.Abs(v-u.Value/2) > 1e-6*u.Value || math.Abs(often.Value-v) > 1e-6*u.Value {
			t.Fatalf("%v after a half-life, %v read often, of %v", v, often.Value, u.Value)
		}
		amount, pieces := rapid.Float64Range(0, 1e6).Draw(t, "amount"), rapid.IntRange(1, 20).Draw(t, "pieces")
		var whole, flat, decayed Usage
		whole = whole.Charge(1000, amount, 0)
		for i := range pieces {
			at := 1000 * float64(i+1) / float64(pieces)
			flat, decayed = flat.Charge(at, amount/float64(pieces), 0), decayed.Charge(at, amount/float64(pieces), halfLife)
		}
		if math.Abs(flat.Value-whole.Value) > 1e-6*amount || decayed.Value > whole.Value*(1+1e-9) {
			t.Fatalf("in pieces %v, decayed %v, at once %v", flat.Value, decayed.Value, whole.Value)
		}
	})
}

// TestUsageIsOrderFree: a charge that comes late counts as if it had come in time.
func TestUsageIsOrderFree(t *testing.T) {
	a := Usage{}.Charge(100, 7, 50).Charge(200, 5, 50)
	b := Usage{}.Charge(200, 5, 50).Charge(100, 7, 50)
	near(t, "value", b.Read(300, 50), a.Read(300, 50), 1e-9)
}

func TestInvariant37Equivalents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machine := Resources{CPUs: 64, Memory: 512, GPUs: 8, Scratch: 1000}
		part := func(name string, most float64) float64 { return rapid.Float64Range(0, most).Draw(t, name) }
		r := Resources{part("cpus", 64), part("memory", 512), part("gpus", 8), part("scratch", 1000)}
		sum, most := total(SharesOfEquivalent(r, machine, false)), total(SharesOfEquivalent(r, machine, true))
		if most > machine.CPUs+1e-9 || most < r.CPUs-1e-9 || sum < most-1e-9 {
			t.Fatalf("%+v counts as %v and %v", r, sum, most)
		}
	})
}

func TestInvariant38Credit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 20).Draw(t, "a"), rapid.Float64Range(0, 20).Draw(t, "b")
		if Credited(10, a+b) < Credited(10, a) || Credited(10, a) > 30 || Credited(10, 0) != 10 {
			t.Fatalf("credit %v and %v", a, b)
		}
	})
}

func TestWeightIsInEighths(t *testing.T) {
	for factor, want := range map[float64]float64{1: 1, 0.5: 0.5, 0.3: 0.25, 0: 0.125} {
		near(t, "weight", Weight(factor), want, 0)
	}
}

func TestInheritedUsage(t *testing.T) { near(t, "usage", InheritedUsage(0.1, 0.5, 0.25), 0.2, 1e-12) }
