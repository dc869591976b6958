package facts

import (
	"math"
	"time"
)

// Standstill is how an attempt stands still by order.
type Standstill string

const (
	Moves          Standstill = ""
	Stands         Standstill = "suspended"
	StandsReleased Standstill = "released" // and has given back its slots
	Resuming       Standstill = "resuming" // and waits for slots to go on
)

// Standstill is how the attempt stands still now.
func (a *AttemptFacts) Standstill() Standstill {
	switch {
	case a.SuspendedAt.IsZero():
		return Moves
	case a.ReleasedAt.IsZero():
		return Stands
	case a.ResumingAt.IsZero():
		return StandsReleased
	}
	return Resuming
}

// Taken is how many slots the attempt takes while it lives.
func (a *AttemptFacts) Taken() int {
	if !a.ReleasedAt.IsZero() {
		return 0
	}
	return a.Slots
}

// StoodUntil is for how many seconds the attempt was suspended by then, and for how many it had given back its slots.
// They add up as the row keeps them: never fewer than it says, which a time.Duration in between does not promise.
func (a *AttemptFacts) StoodUntil(then time.Time) (suspended, released float64) {
	return a.Suspended + secondsSince(a.SuspendedAt, then), a.Released + secondsSince(a.ReleasedAt, then)
}

// ReleasedUntil is for how long the attempt had given back its slots by then.
func (a *AttemptFacts) ReleasedUntil(then time.Time) time.Duration {
	_, released := a.StoodUntil(then)
	return Seconds(released)
}

// SuspendedUntil is for how long the attempt was suspended by then.
func (a *AttemptFacts) SuspendedUntil(then time.Time) time.Duration {
	suspended, _ := a.StoodUntil(then)
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
func (a *AttemptFacts) RanUntil(then time.Time) time.Duration {
	return then.Sub(a.StartedAt) - a.SuspendedUntil(then)
}

// WhyResuming says for what an attempt waits that was resumed.
func WhyResuming(a *AttemptFacts) Why {
	return Because(ReasonResuming, Params{Host: a.Host, Limit: int64(a.Slots)}, "")
}
