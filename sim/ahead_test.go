package sim

import (
	"iter"
	"maps"
	"slices"

	"qb/supervisor/job/facts"
)

// Items that are held ahead. Their attempts are rows from the moment at which they are given, and take nothing before
// the attempt has ended behind which they are.

// before is the live attempt behind which another is; nil: there is none.
func (r *simRows) before(a *facts.AttemptFacts) *facts.AttemptFacts {
	if !a.Ahead() {
		return nil
	}
	if b := r.jobs[a.Job].latest(a.BehindItem); b != nil && b.State.Live() && a.Follows(b.AttemptID) {
		return b
	}
	return nil
}

// comes has the attempt hold what it needs that was behind one which has ended. It may have what that one had, though
// the host has less by now: its worker may have begun it already.
func (r *simRows) comes(ended *facts.AttemptFacts) {
	for a := range r.everyRow() {
		if a.Follows(ended.AttemptID) {
			r.world.some("an item held ahead came")
			r.held[a.Host] += a.Slots
			r.promise(*a)
			same := maps.Equal(a.Holds, ended.Holds) && slices.Equal(a.Devices, ended.Devices)
			if a.Slots > ended.Slots || !same {
				r.checkRoom(*a)
			}
		}
	}
}

// everyLive are the attempts that have not ended and are not behind others, by their numbers.
func (r *simRows) everyLive() iter.Seq[*facts.AttemptFacts] {
	return func(yield func(*facts.AttemptFacts) bool) {
		for a := range r.everyRow() {
			if r.before(a) == nil && !yield(a) {
				return
			}
		}
	}
}
