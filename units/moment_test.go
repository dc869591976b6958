package units

import (
	"strings"
	"testing"
	"time"
)

func TestRequestMoment(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 24, 17, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"": "", "now": "", "+90": "+90", "+1h30m": "+1h30m",
		"18:30": "2026-11-24T18:30:00+01:00", "16:30": "2026-11-25T16:30:00+01:00", "17:00:01": "2026-11-24T17:00:01+01:00",
		"2026-12-24 18:30": "2026-12-24T18:30:00+01:00", "2026-07-01": "2026-07-01T00:00:00+02:00",
		"2026-12-24T18:30:00Z": "2026-12-24T18:30:00Z", "2026-12-24T18:30": "2026-12-24T18:30:00+01:00",
	} {
		if got, err := RequestMoment(text, now); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"+-3", "+x", "25:00", "2026-13-01", "tomorrow", "18.30"} {
		if got, err := RequestMoment(text, now); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	// 02:30 is not there on the day when clocks are put forward.
	if got, err := RequestMoment("02:30", time.Date(2027, 3, 27, 23, 0, 0, 0, zone)); err != nil || got != "2027-03-29T02:30:00+02:00" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 17, 0, 0, 5, time.UTC)
	for text, want := range map[string]string{
		"+90": "2026-11-24T17:01:30Z", "+1d": "2026-11-25T17:00:00Z", "2026-12-24T18:30:00+01:00": "2026-12-24T17:30:00Z", "2026-12-24T18:30:00.9Z": "2026-12-24T18:30:00Z",
	} {
		if got, err := ParseMoment(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2026-12-24 18:30", "18:30", "+", "0000-01-01T00:00:00Z", "9999-12-31T23:00:00-05:00"} {
		if _, err := ParseMoment(text, now); err == nil || !strings.Contains(err.Error(), "write") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
