package smartshare

import (
	"cmp"
	"slices"
)

// Contender is one who asks for slots again and again, a user or a job, as the CPU-time share sees it.
type Contender struct {
	VTime  float64 // virtual time: slot seconds received per weight
	Weight float64 // above zero
	Rank   int     // decides between equals
}

// NextByStride is the contender whose virtual time is least; -1 of none.
func NextByStride(waiting []Contender) int {
	best := -1
	for i, c := range waiting {
		if best < 0 || cmp.Or(cmp.Compare(c.VTime, waiting[best].VTime), cmp.Compare(c.Rank, waiting[best].Rank)) < 0 {
			best = i
		}
	}
	return best
}

// Started charges a start in advance with the estimate of its slot seconds.
func (c Contender) Started(estimate float64) Contender {
	c.VTime += estimate / c.Weight
	return c
}

// Ended trues the charge up when the item's actual slot seconds are known.
func (c Contender) Ended(estimate, actual float64) Contender {
	c.VTime += (actual - estimate) / c.Weight
	return c
}

// Joined is a contender that comes, or comes back: it has no banked credit against those that are active.
func (c Contender) Joined(active []Contender) Contender {
	if i := NextByStride(active); i >= 0 {
		c.VTime = max(c.VTime, active[i].VTime)
	}
	return c
}

// Yields says whether an instance gives its slot back at an item's boundary: a waiting contender must be
// behind by more than one item of its own, so that two do not change places for ever.
func (c Contender) Yields(waiting Contender, itsItem float64) bool {
	return waiting.VTime+itsItem/waiting.Weight < c.VTime
}

// Lottery settings: the shortest time that counts, and how many refusals in a row let a contender in.
const (
	LotteryLeast  = 1.0 // seconds
	LotteryKnocks = 3
)

// Accepted is the last request of a contender that was accepted, in seconds.
type Accepted struct {
	Contender int
	Seconds   float64
}

// Lottery is the other form of the CPU-time share. Only accepted requests are history, one for each
// contender, so that refusals bias nothing.
type Lottery struct {
	History []Accepted
	Knocker int // who was refused last
	Knocks  int // how often in a row
}

// Chance is the probability with which a request is accepted: the least of the history over its own
// length, itself included; 1 for who has been refused three times in a row.
func (l Lottery) Chance(contender int, seconds float64) float64 {
	if l.Knocks >= LotteryKnocks && l.Knocker == contender {
		return 1
	}
	seconds = max(seconds, LotteryLeast)
	least := seconds
	for _, a := range l.History {
		least = min(least, max(a.Seconds, LotteryLeast))
	}
	return least / seconds
}

// Draw decides a request by a number in [0,1) that the caller has drawn, and is the lottery after it.
func (l Lottery) Draw(contender int, seconds, drawn float64) (accepted bool, after Lottery) {
	if drawn >= l.Chance(contender, seconds) {
		knocks := 1
		if l.Knocker == contender {
			knocks = l.Knocks + 1
		}
		return false, Lottery{l.History, contender, knocks}
	}
	history := slices.Clone(l.History)
	at := slices.IndexFunc(history, func(a Accepted) bool { return a.Contender == contender })
	if at < 0 {
		at = len(history)
		history = append(history, Accepted{Contender: contender})
	}
	history[at].Seconds = seconds
	return true, Lottery{History: history}
}

// FirstEstimate is how long an item is taken to run before any has returned, in seconds.
const FirstEstimate = 3600.0

// EstimateTime is how long the next item is taken to run: the quantile (1: the largest) of those returned,
// and never less than the oldest item still out has run.
func EstimateTime(returned []float64, oldest, quantile float64) float64 {
	if len(returned) == 0 {
		return max(FirstEstimate, oldest)
	}
	return max(nearestRank(slices.Sorted(slices.Values(returned)), quantile), oldest)
}
