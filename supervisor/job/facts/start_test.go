package facts

import (
	"strings"
	"testing"
	"time"
)

// TestFixStart: a start is made absolute, and a start that no time span can reach is refused.
func TestFixStart(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "", "+1h": "2026-11-28T13:00:00Z", "2026-12-24T18:30:00+01:00": "2026-12-24T17:30:00Z", "2126-11-28T12:00:00Z": "2126-11-28T12:00:00Z",
	} {
		j := JobFacts{StartAt: text}
		if err := j.FixStart(now); err != nil || j.StartAt != want {
			t.Errorf("%q: %q, %v; want %q", text, j.StartAt, err, want)
		}
	}
	for _, text := range []string{"2126-11-28T12:00:01Z", "2400-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		j := JobFacts{StartAt: text}
		if err := j.FixStart(now); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestStartsInFar: the longest spans are days, not an overflow.
func TestStartsInFar(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "less than a minute", 59: "less than a minute", 60: "1m", 3600: "1h", 47 * 3600: "47h", 172800: "2 days",
		9223372080: "106751 days", 1e15: "11574074074 days",
	} {
		if got := startsIn(seconds); got != want {
			t.Errorf("%g s: %q, want %q", seconds, got, want)
		}
	}
}
