package smartshare

import (
	"math"
	"testing"
)

// The golden numbers of the model that speak of single functions. N1 to N3 are in draw_test.go and, for the whole farm,
// in package farm (TestSeedsRunUnderStride, TestSeedsRunUnderLottery); N4 to N6 and N13 are there too (memory_share.txt,
// memory_ledger.txt, memory_best_fit.txt, TestChargeBySpeedScratchAndPeak), N7 in returned_test.go, N9 to N12,
// N14 and N15 in package fairshare. N16, an index of fairness, is of no use to the product.

const gib = int64(1) << 30

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
