package smartshare

import "math"

// Contender is one who asks for slots again and again, a user or a job, as the CPU-time share sees it.
type Contender struct {
	VTime  float64 // virtual time: slot seconds received per weight
	Weight float64 // above zero
}

// Yields says whether an instance gives its slot back at an item's boundary: a waiting contender must be
// behind by more than one item of its own, so that two do not change places for ever.
func (c Contender) Yields(waiting Contender, itsItem float64) bool {
	return waiting.VTime+itsItem/waiting.Weight < c.VTime
}

// FirstEstimate is how long an item is taken to run before any has returned, in seconds.
const FirstEstimate = 3600.0

// ServedContender is one who may be served next.
type ServedContender struct {
	Contender         // under stride
	Served    float64 // under the lottery: slot seconds received per weight, none charged in advance
	Known     int     // items that have returned
	Item      float64 // seconds that the next one is taken to run, if any has returned
}

// Stride returns who gets the next slot, -1 if the one who has the slots goes on: of those behind by more than one
// item of their own the one most behind. One of which no item has returned need only be behind.
func Stride(own ServedContender, competitors []ServedContender, slots int) int {
	best := -1
	for n, other := range competitors {
		item := 0.0
		if other.Known > 0 {
			item = other.Item * float64(slots)
		}
		if own.Yields(other.Contender, item) && (best < 0 || other.VTime < competitors[best].VTime) {
			best = n
		}
	}
	return best
}

// Lottery draws who gets the next slot, -1 if the one who has the slots goes on. One of which no item has returned
// is taken to have the shortest, so that its length becomes known; what that first item took too much is made good
// before it may draw again.
func Lottery(own ServedContender, competitors []ServedContender, seed uint64, about ...uint64) int {
	level := own.Served
	for _, r := range competitors {
		level = min(level, r.Served)
	}
	var draw []int // places of competitors, -1: the one who has the slots
	var times []float64
	least := math.Inf(1)
	for n := -1; n < len(competitors); n++ {
		t := own
		if n >= 0 {
			t = competitors[n]
		}
		if t.Known == 1 && t.Served > level {
			continue
		}
		if t.Item > 0 {
			least = min(least, t.Item)
		}
		draw, times = append(draw, n), append(times, t.Item)
	}
	for n := range times {
		if times[n] == 0 {
			times[n] = min(least, FirstEstimate)
		}
	}
	return draw[Draws(times, seed, about...)]
}
