package facts

import "time"

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

// ReleasedUntil is for how long the attempt had given back its slots by then.
func (a *AttemptFacts) ReleasedUntil(then time.Time) time.Duration {
	before := time.Duration(a.Released * float64(time.Second))
	if a.ReleasedAt.IsZero() {
		return before
	}
	return before + max(0, then.Sub(a.ReleasedAt))
}

// SuspendedUntil is for how long the attempt was suspended by then.
func (a *AttemptFacts) SuspendedUntil(then time.Time) time.Duration {
	before := time.Duration(a.Suspended * float64(time.Second))
	if a.SuspendedAt.IsZero() {
		return before
	}
	return before + max(0, then.Sub(a.SuspendedAt))
}

// RanUntil is for how long the attempt had run by then: not the time for which it was suspended.
func (a *AttemptFacts) RanUntil(then time.Time) time.Duration {
	return then.Sub(a.StartedAt) - a.SuspendedUntil(then)
}

// WhyResuming says for what an attempt waits that was resumed.
func WhyResuming(a *AttemptFacts) Why {
	return Because(ReasonResuming, Params{Host: a.Host, Limit: int64(a.Slots)}, "")
}
