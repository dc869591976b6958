package units

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// momentForms are the absolute times that people write, in their zone where they name none.
var momentForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", "2006-01-02"}

// RequestMoment is a time that a person writes as a request has it: absolute with its zone, or +SPAN, which the clock
// of who takes the request makes absolute; empty for no time. Now is in that person's zone. A time of day alone is the
// next one.
func RequestMoment(text string, now time.Time) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "now":
		return "", nil
	case text[0] == '+':
		_, err := ParseMoment(text, now)
		return text, err
	}
	if at, known, err := LocalMoment(text, now.Location()); known {
		return at.Format(time.RFC3339), err
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		for n := range 3 { // clocks may skip the time of day today
			wall := time.Date(now.Year(), now.Month(), now.Day()+n, clock.Hour(), clock.Minute(), clock.Second(), 0, time.UTC)
			for _, at := range momentsOf(wall, now.Location()) {
				if at.After(now) {
					return at.Format(time.RFC3339), nil
				}
			}
		}
	}
	return "", fmt.Errorf("%s is no time; write 18:30, '2026-12-24 18:30', 2026-12-24T18:30:00Z or +2h", Quoted(text))
}

// LocalMoment reads an absolute time, in the zone given where it names none. Known is false for a text of another form.
// A time that the clocks of the zone skip or show twice, at the begin and the end of summer time, is an error that
// names the times to write instead.
func LocalMoment(text string, zone *time.Location) (at time.Time, known bool, err error) {
	for _, form := range momentForms {
		at, err := time.ParseInLocation(form, text, zone)
		if err != nil {
			continue
		}
		if form == time.RFC3339 {
			return at, true, nil
		}
		wall, _ := time.Parse(form, text)
		moments := momentsOf(wall, zone)
		switch len(moments) {
		case 0:
			return at, true, fmt.Errorf("%s does not exist in the zone %s: clocks are put forward then; write %s",
				Quoted(text), zone, afterGap(wall, zone).Format(time.RFC3339))
		case 1:
			return moments[0], true, nil
		default:
			return at, true, fmt.Errorf("%s comes twice in the zone %s: clocks are put back then; write %s or %s",
				Quoted(text), zone, moments[0].Format(time.RFC3339), moments[1].Format(time.RFC3339))
		}
	}
	return time.Time{}, false, nil
}

// momentsOf are the moments, in order, at which clocks of the zone show the wall time, whose zone is UTC.
func momentsOf(wall time.Time, zone *time.Location) (moments []time.Time) {
	// A zone changes its offset at most once within two days, except in years long past.
	for _, offset := range offsetsAround(wall, zone) {
		at := wall.Add(-offset).In(zone)
		if _, shown := at.Zone(); time.Duration(shown)*time.Second == offset {
			moments = append(moments, at)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	return slices.CompactFunc(moments, time.Time.Equal)
}

// offsetsAround are the offsets of the zone from UTC a day before and a day after the wall time.
func offsetsAround(wall time.Time, zone *time.Location) (offsets []time.Duration) {
	for _, day := range []int{-1, 1} {
		_, offset := wall.AddDate(0, 0, day).In(zone).Zone()
		offsets = append(offsets, time.Duration(offset)*time.Second)
	}
	return offsets
}

// afterGap is the moment that is as long after the gap as the skipped wall time is after the gap's begin.
func afterGap(wall time.Time, zone *time.Location) time.Time {
	return wall.Add(-slices.Min(offsetsAround(wall, zone))).In(zone)
}

// ParseMoment reads a time as a request has it, to the second in UTC.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if span, relative := strings.CutPrefix(text, "+"); relative {
		d, err := ParseSpan(span, time.Second)
		if err != nil {
			return time.Time{}, err
		}
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s is no time; write 2026-12-24T18:30:00Z, with Z or a zone such as +01:00, or +2h",
			Quoted(text))
	}
	if at = at.UTC().Truncate(time.Second); at.Year() < 1 || at.Year() > 9999 {
		return at, fmt.Errorf("%s is out of range; write a year from 1 to 9999", Quoted(text))
	}
	return at, nil
}
