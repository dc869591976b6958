package smartshare

import "math"

// Running is what the choice of victims knows of an instance.
type Running struct {
	Lost    float64 // seconds of work that a stop would cost
	Elapsed float64 // seconds since its item began
	Idle    bool    // it has no item
	Started float64 // seconds; when the instance began
}

// VictimOrder is when an instance's turn to go comes among those of its job: the one with the least first key, of those
// the one with the least other. Equals are the caller's to tell apart, by id.
//
// Under aggressive preemption the least lost work goes first, then the youngest. Under passive the one nearest its end
// does: without an item, else with the item that has run longest, then the oldest; nothing is lost, only waited for, so
// that is the opposite on purpose.
func VictimOrder(r Running, passive bool) (first, then uint64) {
	switch {
	case !passive:
		return ordered(r.Lost), ordered(-r.Started)
	case r.Idle:
		return ordered(math.Inf(-1)), ordered(r.Started)
	}
	return ordered(-r.Elapsed), ordered(r.Started)
}

// KeepWork is the Work of the Worth of an instance, in milliseconds: its lost work, or under passive
// preemption the less the longer its item has run.
func KeepWork(r Running, passive bool) int64 {
	const bound = 1 << 38 // 8.7 years, so that sums stay exact
	ms := func(seconds float64) int64 { return int64(math.Round(min(max(seconds*1000, 0), bound-1))) }
	switch {
	case !passive:
		return ms(r.Lost)
	case r.Idle:
		return 0
	}
	return bound - ms(r.Elapsed)
}
