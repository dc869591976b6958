package facts

import (
	"time"

	"qb/internal/units"
)

// The formats of times and durations in sentences.

// Moment is a time as a parameter of a reason.
func Moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Clock formats a time for people. It leaves out the date if the time is less than 24 hours from now.
func Clock(now, t time.Time) string {
	if away := t.Sub(now).Abs(); away < 24*time.Hour {
		return t.UTC().Format("15:04 UTC")
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// startsIn formats a duration in whole minutes, so that the sentence of a job changes once a minute.
func startsIn(seconds float64) string {
	const minute, day = 60, 24 * 60 * 60
	switch {
	case seconds < minute:
		return "less than a minute"
	case seconds >= 2*day:
		return Several(int(seconds/day), "day")
	default:
		return units.Span((time.Duration(seconds) * time.Second).Truncate(time.Minute)).String()
	}
}
