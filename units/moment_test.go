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

// TestLocalMoment compares what is read of each quarter of an hour around changes of the clocks with the moments at
// which a clock of the zone shows it, found by looking at each minute of three days.
func TestLocalMoment(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ zone, day string }{
		{"Europe/Berlin", "2027-03-28"}, {"Europe/Berlin", "2026-10-25"}, {"America/Los_Angeles", "2027-03-14"},
		{"America/New_York", "2026-11-01"}, {"America/Sao_Paulo", "2018-11-04"}, {"Australia/Lord_Howe", "2027-04-04"},
		{"Africa/Casablanca", "2027-02-07"}, {"Asia/Kathmandu", "2026-11-28"}, {"Pacific/Apia", "2011-12-30"}, {"UTC", "2026-11-28"},
	} {
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, change.day)
		if err != nil {
			t.Fatal(err)
		}
		const form = "2006-01-02 15:04"
		shown := map[string][]time.Time{}
		for at := day.Add(-48 * time.Hour); at.Before(day.Add(72 * time.Hour)); at = at.Add(time.Minute) {
			text := at.In(zone).Format(form)
			shown[text] = append(shown[text], at)
		}
		refused := 0
		for wall := day; wall.Before(day.Add(24 * time.Hour)); wall = wall.Add(15 * time.Minute) {
			text := wall.Format(form)
			at, known, err := LocalMoment(text, zone)
			want := shown[text]
			switch {
			case !known:
				t.Errorf("%s %s: not known", change.zone, text)
			case len(want) != 1 && err == nil, len(want) == 1 && (err != nil || !at.Equal(want[0])):
				t.Errorf("%s %s: %v, %v; want %v", change.zone, text, at, err, want)
			}
			if err != nil {
				refused++
				for _, moment := range want {
					if !strings.Contains(err.Error(), moment.In(zone).Format(time.RFC3339)) {
						t.Errorf("%s %s: %q does not name %v", change.zone, text, err, moment)
					}
				}
			}
		}
		if still := change.zone == "UTC" || change.zone == "Asia/Kathmandu"; still != (refused == 0) {
			t.Errorf("%s %s: %d quarters of an hour are refused", change.zone, change.day, refused)
		}
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
