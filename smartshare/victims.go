package smartshare

import "math"

// Running is what the choice of victims knows of an instance.
type Running struct {
	Lost    float64 // seconds of work that a stop would cost
	Elapsed float64 // seconds since its item began
	Idle    bool    // it has no item
	Started float64 // seconds; when the instance began
}

// VictimOrder is when an instance's turn to go comes among those of its job; the least goes first. Equals are the
// caller's to tell apart, by id.
type VictimOrder struct{ first, then float64 }

// VictimOrderOf tells the order of an instance. Under aggressive preemption the least lost work goes first, then
// the youngest. Under passive the one nearest its end does: without an item, else with the item that has
// run longest, then the oldest; nothing is lost, only waited for, so that is the opposite on purpose.
func VictimOrderOf(r Running, passive bool) VictimOrder {
	switch {
	case !passive:
		return VictimOrder{r.Lost, -r.Started}
	case r.Idle:
		return VictimOrder{math.Inf(-1), r.Started}
	}
	return VictimOrder{-r.Elapsed, r.Started}
}

// Compare is negative if t comes before u.
func (t VictimOrder) Compare(u VictimOrder) int {
	switch {
	case t.first < u.first || t.first == u.first && t.then < u.then:
		return -1
	case t == u:
		return 0
	}
	return 1
}

// Keys are numbers that are in the order of the turns: by the first, and where that is the same by the other.
func (t VictimOrder) Keys() (first, then uint64) { return ordered(t.first), ordered(t.then) }

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
