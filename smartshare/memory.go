package smartshare

// MemoryRule says how the memory of a job's next instance is estimated.
type MemoryRule struct {
	Quantile float64 // of the peaks returned; 1: the largest
	Margin   float64 // times the quantile
	Enough   int     // peaks from which quantile and margin act; before, the largest peak does
}

// AfterOutOfMemory is the estimate after an instance was killed at a limit; false if even the largest host
// is not enough.
func AfterOutOfMemory(estimate, limit, largest int64) (raised int64, ok bool) {
	if limit >= largest {
		return estimate, false
	}
	return max(estimate, min(2*limit, largest)), true
}
