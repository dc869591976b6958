package units

import (
	"fmt"
	"slices"
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

// clockChanges are days on which the clocks of a zone are changed, and some on which they are not.
// They are past: rules for the future change.
var clockChanges = []struct {
	zone, day string
	changed   bool
}{
	{"Europe/Berlin", "2025-03-30", true}, {"Europe/Berlin", "2024-10-27", true}, {"America/Los_Angeles", "2025-03-09", true},
	{"America/New_York", "2024-11-03", true}, {"America/St_Johns", "2025-03-09", true}, {"America/Havana", "2024-11-03", true},
	{"America/Sao_Paulo", "2018-11-04", true}, {"America/Sao_Paulo", "2018-02-17", true}, {"America/Sao_Paulo", "2024-11-03", false},
	{"Australia/Lord_Howe", "2025-04-06", true}, {"Australia/Lord_Howe", "2024-10-06", true}, // half an hour
	{"Europe/Dublin", "2025-03-30", true}, {"Europe/Dublin", "2024-10-27", true}, // summer is the standard time
	{"Africa/Casablanca", "2024-03-10", true}, {"Africa/Casablanca", "2024-04-14", true}, // back for Ramadan
	{"Antarctica/Troll", "2025-03-30", true}, {"Antarctica/Troll", "2024-10-27", true}, // two hours
	{"Pacific/Chatham", "2025-04-06", true}, {"Asia/Kathmandu", "2024-11-28", false},
	{"Pacific/Apia", "2011-12-30", true}, {"Pacific/Kwajalein", "1993-08-21", true}, {"Asia/Pyongyang", "2018-05-04", true}, // a day, half an hour
	{"UTC", "2024-11-28", false},
}

// shownIn is each moment of five days around a day at which clocks of a zone show a time, to the minute.
func shownIn(zone *time.Location, day time.Time, form string) map[string][]time.Time {
	shown := map[string][]time.Time{}
	for at := day.Add(-48 * time.Hour); at.Before(day.Add(120 * time.Hour)); at = at.Add(time.Minute) {
		text := at.In(zone).Format(form)
		shown[text] = append(shown[text], at)
	}
	return shown
}

// TestLocalMoment compares what is read of each quarter of an hour around changes of the clocks with the moments at
// which a clock of the zone shows it, found by looking at each minute.
func TestLocalMoment(t *testing.T) {
	t.Parallel()
	for _, change := range clockChanges {
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, change.day)
		if err != nil {
			t.Fatal(err)
		}
		const form = "2006-01-02 15:04"
		shown := shownIn(zone, day, form)
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
		if change.changed == (refused == 0) {
			t.Errorf("%s %s: %d quarters of an hour are refused", change.zone, change.day, refused)
		}
	}
}

// TestTimesOfDay compares what is read of a time of day alone, at any time around changes of the clocks, with the next
// moment at which a clock of the zone shows it, found by looking at each minute.
func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for _, change := range clockChanges {
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, change.day)
		if err != nil {
			t.Fatal(err)
		}
		shown := shownIn(zone, day, "15:04")
		for now := day.Add(-24 * time.Hour); now.Before(day.Add(48 * time.Hour)); now = now.Add(10*time.Minute + 10*time.Second) {
			for minutes := 0; minutes < 24*60; minutes += 30 {
				text := fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
				n := slices.IndexFunc(shown[text], now.Before)
				got, err := RequestMoment(text, now.In(zone))
				if want := shown[text][n].In(zone).Format(time.RFC3339); err != nil || got != want {
					t.Fatalf("%s at %s: %s, %v; want %s", text, now.In(zone), got, err, want)
				}
			}
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
