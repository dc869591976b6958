package facts

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStoodUntil: an attempt that is suspended, released and resumed again and again, by a clock that may be set back,
// never loses time that its row has counted, and counts what has passed.
func TestStoodUntil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		a := AttemptFacts{RunFacts: RunFacts{StartedAt: now}}
		a.Suspended = rapid.Float64Range(0, 1e8).Draw(t, "suspended")
		a.Released = rapid.Float64Range(0, a.Suspended).Draw(t, "released")
		for range rapid.IntRange(1, 8).Draw(t, "times") {
			stood := time.Duration(rapid.Int64Range(-1e12, 1e15).Draw(t, "stood"))
			a.SuspendedAt, a.ReleasedAt = now, now
			now = now.Add(stood)
			suspended, released := a.SuspendedSeconds(now)
			if suspended < a.Suspended || released < a.Released || released > suspended {
				t.Fatalf("after %v s and %v s, and %s more: %v s and %v s", a.Suspended, a.Released, stood, suspended, released)
			}
			passed := max(0, stood)
			for what, wrong := range map[string]time.Duration{
				"suspended": a.SuspendedUntil(now) - Seconds(a.Suspended) - passed, "released": a.ReleasedUntil(now) - Seconds(a.Released) - passed,
			} {
				if wrong.Abs() > 100*time.Nanosecond { // what a float64 tells apart after years
					t.Fatalf("%s: after %v s and %v s, and %s more: wrong by %s", what, a.Suspended, a.Released, stood, wrong)
				}
			}
			a.Suspended, a.Released, a.SuspendedAt, a.ReleasedAt = suspended, released, time.Time{}, time.Time{}
		}
	})
}

// TestSeconds: a time of less than some days that a row keeps as seconds is the same when it is read.
func TestSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := time.Duration(rapid.Int64Range(0, int64(10*24*time.Hour)).Draw(t, "kept"))
		if read := Seconds(kept.Seconds()); read != kept {
			t.Fatalf("%d ns is read as %d ns", kept, read)
		}
	})
}
