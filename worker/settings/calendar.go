package settings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostEntries is how many entries a calendar has at most: an hour on, an hour off, for a week.
const mostEntries = 84

const minutesOfWeek = 7 * 24 * 60

// Calendar is a set of spans of the week in a host's local time. The zero value is empty.
type Calendar struct {
	spans []span // by from, apart from each other; a span over Sunday midnight is two
}

// span is minutes of the week from Monday 00:00 on, without to.
type span struct {
	from, to int
	entry    string
}

var days = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

var entryForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z,-]+) ([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})$`)
})

// ParseCalendar reads entries such as "mon-fri 09:00-18:00", "sat,sun 22:00-06:00" and "daily 12:00-13:00". A span
// whose end is not after its begin ends on the next day. The error says which entry is wrong; entries that overlap are.
func ParseCalendar(entries []string) (Calendar, error) {
	if len(entries) > mostEntries {
		return Calendar{}, fmt.Errorf("%d entries are more than %d", len(entries), mostEntries)
	}
	var c Calendar
	for _, entry := range entries {
		spans, err := parseEntry(entry)
		if err != nil {
			return Calendar{}, err
		}
		c.spans = append(c.spans, spans...)
	}
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for n, s := range c.spans[min(1, len(c.spans)):] {
		if before := c.spans[n]; s.from < before.to {
			return Calendar{}, fmt.Errorf("%q and %q overlap", before.entry, s.entry)
		}
	}
	return c, nil
}

func parseEntry(entry string) (spans []span, err error) {
	const form = "%q is not of the form mon-fri 09:00-18:00, with days mon to sun, a list of them or daily"
	part := entryForm().FindStringSubmatch(strings.ToLower(strings.Join(strings.Fields(entry), " ")))
	if part == nil {
		return nil, fmt.Errorf(form, entry)
	}
	var clock [2]int // minutes of the day
	for n := range clock {
		hour, _ := strconv.Atoi(part[2+2*n])
		minute, _ := strconv.Atoi(part[3+2*n])
		clock[n] = 60*hour + minute
		if minute > 59 || clock[n] > 24*60 {
			return nil, fmt.Errorf("%q: %s:%s is no time of a day", entry, part[2+2*n], part[3+2*n])
		}
	}
	from, length := clock[0], clock[1]-clock[0]
	if length <= 0 {
		length += 24 * 60
	}
	chosen, err := parseDays(part[1])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", entry, err)
	}
	for _, day := range chosen {
		begin := day*24*60 + from
		end := begin + length
		if begin < minutesOfWeek {
			spans = append(spans, span{begin, min(end, minutesOfWeek), entry})
		}
		if end > minutesOfWeek {
			spans = append(spans, span{max(begin, minutesOfWeek) - minutesOfWeek, end - minutesOfWeek, entry})
		}
	}
	return spans, nil
}

// parseDays reads days as numbers from Monday = 0.
func parseDays(text string) (chosen []int, err error) {
	if text == "daily" {
		text = "mon-sun"
	}
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(days, first), slices.Index(days, last)
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("%q is no day; days are %s", part, strings.Join(days, " "))
		}
		for day := from; ; day = (day + 1) % 7 {
			chosen = append(chosen, day)
			if day == to {
				break
			}
		}
	}
	return chosen, nil
}

// Holds says whether the calendar has the moment, by the clock of its location.
func (c Calendar) Holds(now time.Time) bool {
	minute := (int(now.Weekday())+6)%7*24*60 + now.Hour()*60 + now.Minute()
	return slices.ContainsFunc(c.spans, func(s span) bool { return s.from <= minute && minute < s.to })
}
