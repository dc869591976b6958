package smartshare

import (
	"cmp"
	"math"
	"slices"
)

// MemoryRule says how the memory of a job's next instance is estimated.
type MemoryRule struct {
	Quantile float64 // of the peaks returned; 1: the largest
	Margin   float64 // times the quantile
	Enough   int     // peaks from which quantile and margin act; before, the largest peak does
	Initial  int64   // bytes, before the first peak
}

// DefaultMemoryRule is in force unless the site sets another.
var DefaultMemoryRule = MemoryRule{Quantile: 0.95, Margin: 1.1, Enough: 20, Initial: 2 << 30}

// EstimateMemory is what an instance is taken to need, in bytes, after the peaks returned. What the user
// gave (0: nothing) is the estimate before the first, and two thirds of it the least ever.
func EstimateMemory(peaks []int64, given int64, rule MemoryRule) int64 {
	switch {
	case len(peaks) == 0 && given > 0:
		return given
	case len(peaks) == 0:
		return rule.Initial
	}
	sorted := slices.Sorted(slices.Values(peaks))
	estimate := sorted[len(sorted)-1]
	if len(sorted) >= rule.Enough && rule.Quantile < 1 {
		estimate = int64(math.Round(float64(nearestRank(sorted, rule.Quantile)) * rule.Margin))
	}
	return max(estimate, given*2/3)
}

// nearestRank is the quantile of a sorted list: its smallest member that so great a part does not exceed.
func nearestRank[T cmp.Ordered](sorted []T, quantile float64) T {
	n := int(math.Ceil(quantile*float64(len(sorted)) - 1e-9))
	return sorted[min(max(n, 1), len(sorted))-1]
}

// MemoryLimit is where an instance is killed: half as much again as its estimate, at most the host's.
func MemoryLimit(estimate, host int64) int64 { return min(estimate+estimate/2, host) }

// AfterOutOfMemory is the estimate after an instance was killed at a limit; false if even the largest host
// is not enough.
func AfterOutOfMemory(estimate, limit, largest int64) (raised int64, ok bool) {
	if limit >= largest {
		return estimate, false
	}
	return max(estimate, min(2*limit, largest)), true
}

// Reservation is what an instance was promised and what of it is resident already, in bytes.
type Reservation struct{ Reserved, Resident int64 }

// Ledger is what a host may still promise: what is free less what is promised but not resident yet, so
// that nothing is promised twice. Below zero if the host is over-promised.
func Ledger(free int64, reservations []Reservation) int64 {
	for _, r := range reservations {
		free -= max(0, r.Reserved-r.Resident)
	}
	return free
}

// Admits says whether an instance fits the ledger.
func Admits(ledger, need int64) bool { return need <= ledger }

// Announce is the memory to show for each idle slot of a host.
func Announce(ledger int64, idle int) int64 {
	if idle <= 0 {
		return 0
	}
	return max(ledger, 0) / int64(idle)
}

// announceGain is how strongly the original smartmem damped its announcement, by idle workers.
var announceGain = [...]float64{0.01, 0.1, 0.3, 0.5, 1}

// AnnounceFixedPoint is what the original smartmem settles at: the root of k x² + n x = 1, in parts of what
// is free. It is a little below an equal part, and kept to compare with.
func AnnounceFixedPoint(free float64, idle int) float64 {
	if idle <= 0 {
		return 0
	}
	k, n := announceGain[min(idle, len(announceGain))-1], float64(idle)
	return free * (math.Sqrt(n*n+4*k) - n) / (2 * k)
}

// Candidate is a host that an instance might go to; candidates come in the order that decides between equals.
type Candidate struct {
	Ledger    int64
	FreeSlots int
}

// BestFit is the candidate with the least ledger that suffices, of equals the one with the fewest free
// slots; -1 if none does.
func BestFit(need int64, candidates []Candidate) int {
	best := -1
	for i, c := range candidates {
		if c.FreeSlots <= 0 || !Admits(c.Ledger, need) {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(c.Ledger, candidates[best].Ledger), cmp.Compare(c.FreeSlots, candidates[best].FreeSlots)) < 0 {
			best = i
		}
	}
	return best
}
