package smartshare

import (
	"math"
	"testing"
)

// The golden numbers of the model that speak of single functions. N1 to N3 are in draw_test.go and, for the whole farm,
// in package farm (TestSeedsRunUnderStride, TestSeedsRunUnderLottery); N4 to N6 and N13 are there too (memory_share.txt,
// memory_ledger.txt, memory_best_fit.txt, TestChargeBySpeedScratchAndPeak), N7 in returned_test.go, N14 and N15 in
// sharetree_test.go. N16, an index of fairness, is of no use to the product.

const (
	day = 86400.0
	gib = int64(1) << 30
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestN8OutOfMemory(t *testing.T) {
	for _, c := range []struct {
		limit, largest, want int64
		ok                   bool
	}{{2, 64, 4, true}, {6, 8, 8, true}, {8, 8, 0, false}} {
		got, ok := AfterOutOfMemory(1, c.limit*gib, c.largest*gib)
		if ok != c.ok || ok && got != c.want*gib {
			t.Errorf("killed at %d of %d GiB: %d, %v", c.limit, c.largest, got/gib, ok)
		}
	}
}

func TestN9HalfLife(t *testing.T) {
	h := HalfLife(0.75, 2*day)
	near(t, "half-life", h/day, 4.82, 0.005)
	near(t, "left", Usage{1, 0}.Read(30*day, h), 0.0134, 0.00005)
	near(t, "1 % in 30 days", Usage{1, 0}.Read(30, 4.52), 0.01, 0.0001)
	near(t, "5 % in 30 days", Usage{1, 0}.Read(30, 6.94), 0.05, 0.0001)
}

func TestN10Decay(t *testing.T) { near(t, "usage", Usage{1000, 0}.Read(15*day, 5*day), 125, 1e-9) }

func TestN11EquivalentSum(t *testing.T) {
	grid := Resources{CPUs: 23968, Memory: 223364771316, GPUs: 300} // memory in kB
	near(t, "4 CPU + 64 GiB", total(SharesOfEquivalent(Resources{CPUs: 4, Memory: 64 << 20}, grid, false)), 11.20, 0.005)
	near(t, "1 CPU + 1 GPU + 16 GiB", total(SharesOfEquivalent(Resources{CPUs: 1, GPUs: 1, Memory: 16 << 20}, grid, false)), 82.69, 0.005)
}

func TestN12EquivalentMax(t *testing.T) {
	machine := Resources{CPUs: 64, Memory: 512, GPUs: 8}
	near(t, "half the memory", total(SharesOfEquivalent(Resources{CPUs: 4, Memory: 256}, machine, true)), 32, 0)
	near(t, "one GPU", total(SharesOfEquivalent(Resources{CPUs: 1, GPUs: 1}, machine, true)), 8, 0)
}
