package facts

import (
	"math"
	"time"
)

// Suspension is how an attempt is suspended.
type Suspension string

const (
	NotSuspended      Suspension = ""
	SuspendedHolding  Suspension = "suspended"
	SuspendedReleased Suspension = "released" // and has given back its slots
	Resuming          Suspension = "resuming" // and waits for slots to go on
)

// SuspensionState is how the attempt is suspended now.
func (a *RunFacts) SuspensionState() Suspension {
	switch {
	case a.SuspendedAt.IsZero():
		return NotSuspended
	case a.ReleasedAt.IsZero():
		return SuspendedHolding
	case a.ResumingAt.IsZero():
		return SuspendedReleased
	}
	return Resuming
}

// Taken is how many slots the attempt takes while it lives.
func (a *RunFacts) Taken() int {
	if !a.ReleasedAt.IsZero() {
		return 0
	}
	return a.Slots
}

// SuspendedSeconds returns the seconds that the attempt was suspended by then, and those of them without its slots.
// They add up as the row keeps them: never fewer than it says, which a time.Duration in between does not promise.
func (a *RunFacts) SuspendedSeconds(then time.Time) (suspended, released float64) {
	return a.Suspended + secondsSince(a.SuspendedAt, then), a.Released + secondsSince(a.ReleasedAt, then)
}

// ReleasedUntil is for how long the attempt had given back its slots by then.
func (a *RunFacts) ReleasedUntil(then time.Time) time.Duration {
	_, released := a.SuspendedSeconds(then)
	return Seconds(released)
}

// SuspendedUntil is for how long the attempt was suspended by then.
func (a *RunFacts) SuspendedUntil(then time.Time) time.Duration {
	suspended, _ := a.SuspendedSeconds(then)
	return Seconds(suspended)
}

// secondsSince is the time from a moment that is perhaps not there; a clock that was set back takes nothing away.
func secondsSince(since, then time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, then.Sub(since)).Seconds()
}

// Seconds is a time that a row keeps as seconds, to the nearest nanosecond: cut off, 1.054206893 s would be one less.
func Seconds(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// RanUntil is for how long the attempt had run by then: not the time for which it was suspended.
func (a *RunFacts) RanUntil(then time.Time) time.Duration {
	return then.Sub(a.StartedAt) - a.SuspendedUntil(then)
}

// WhyResuming says for what an attempt waits that was resumed.
func WhyResuming(a *RunFacts) Why {
	return Because(ReasonResuming, Params{Host: a.Host, Limit: int64(a.Slots)}, "")
}
