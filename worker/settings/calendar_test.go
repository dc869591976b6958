package settings

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

// monday is a Monday, 00:00.
var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func at(day int, clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return monday.AddDate(0, 0, day).Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
}

func TestCalendar(t *testing.T) {
	c, err := ParseCalendar([]string{"mon-fri 9:00-18:00", "Sat  22:00-06:00", "sun 22:00-24:00"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		day   int
		clock string
		want  bool
	}{
		{0, "08:59", false}, {0, "09:00", true}, {0, "17:59", true}, {0, "18:00", false}, {4, "12:00", true},
		{5, "12:00", false}, {5, "22:00", true}, {5, "23:59", true}, {6, "05:59", true}, {6, "06:00", false}, {6, "23:59", true}, {7, "00:00", false},
	} {
		if got := c.Holds(at(one.day, one.clock)); got != one.want {
			t.Errorf("day %d %s: %t", one.day, one.clock, got)
		}
	}
	over, err := ParseCalendar([]string{"sun 20:00-08:00"})
	if err != nil || !over.Holds(at(7, "07:59")) || over.Holds(at(7, "08:00")) || !over.Holds(at(6, "20:00")) {
		t.Errorf("over Sunday midnight: %v, %+v", err, over)
	}
	if always, err := ParseCalendar([]string{"daily 00:00-24:00"}); err != nil || !always.Holds(at(3, "00:00")) || !always.Holds(at(6, "23:59")) {
		t.Errorf("always: %v", err)
	}
}

// The clock of the host's zone counts, also where it is put forward.
func TestCalendarIsLocal(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := ParseCalendar([]string{"sun 03:00-04:00"})
	if forward := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC).In(berlin); !c.Holds(forward) { // 02:00 is 03:00 that day
		t.Errorf("%s is not held", forward)
	}
}

func TestCalendarRefuses(t *testing.T) {
	for entry, want := range map[string]string{
		"mon 9-18":                            "not of the form",
		"moon 09:00-18:00":                    `"moon" is no day`,
		"mon 09:60-18:00":                     "09:60 is no time",
		"mon 24:01-25:00":                     "24:01 is no time",
		"mon-fri 09:00-18:00;wed 17:00-20:00": `"mon-fri 09:00-18:00" and "wed 17:00-20:00" overlap`,
		"sun 20:00-08:00;mon 07:00-09:00":     "overlap",
		"mon,mon 09:00-10:00":                 "overlap",
		"daily 00:00-24:00;mon 09:00-10:00":   "overlap",
	} {
		if _, err := ParseCalendar(strings.Split(entry, ";")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if _, err := ParseCalendar(make([]string, mostEntries+1)); err == nil {
		t.Error("a calendar without end is taken")
	}
}

// A span holds for as long as it says, whatever its days and times.
func TestCalendarHoldsItsMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day, from, to := rapid.IntRange(0, 6).Draw(t, "day"), rapid.IntRange(0, 1439).Draw(t, "from"), rapid.IntRange(0, 1440).Draw(t, "to")
		clock := func(m int) string { return time.Duration(m * int(time.Minute)).String() }
		text := days[day] + " " + hhmm(from) + "-" + hhmm(to)
		c, err := ParseCalendar([]string{text})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		held := 0
		for m := range minutesOfWeek {
			if c.Holds(monday.Add(time.Duration(m) * time.Minute)) {
				held++
			}
		}
		want := to - from
		if want <= 0 {
			want += 1440
		}
		if held != want {
			t.Fatalf("%s holds %s, want %s", text, clock(held), clock(want))
		}
	})
}

func hhmm(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }

func FuzzCalendar(f *testing.F) {
	f.Add("mon-fri 09:00-18:00")
	f.Add("sat,sun 22:00-06:00")
	f.Fuzz(func(t *testing.T, entry string) {
		c, err := ParseCalendar([]string{entry})
		if err == nil && len(c.spans) == 0 {
			t.Errorf("%q is taken and holds nothing", entry)
		}
	})
}
