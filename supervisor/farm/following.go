package farm

import (
	"time"

	"qb/supervisor/share/planner"
)

// followRest is how long the next plan is put off where as many have followed one event as may (planner.MostFollowing).
const followRest = time.Second

// following is what a farm knows of plans that follow one another without an event in between.
type following struct {
	plans int  // that have followed the first
	due   bool // another is
	cut   bool // the last has asked for another in vain
}

// begin notes that a plan is made, perhaps for something that has happened.
func (fo *following) begin(event bool) {
	fo.plans++
	if event {
		fo.plans = 0
	}
	fo.due, fo.cut = false, false
}

// follow ends a plan, which perhaps asks for another. One too many is put off.
func (pl *planning) follow(now time.Time, more bool) {
	switch fo := &pl.following; {
	case !more:
	case fo.plans < planner.MostFollowing:
		fo.due = true
	default:
		fo.cut = true
		pl.counts.PlansPutOff++
		pl.replanSoon(now.Add(followRest))
	}
}

// isDue says whether something has happened that may move instances, or a plan has asked for another.
func (pl *planning) isDue() bool { return pl.planStale || pl.following.due }
