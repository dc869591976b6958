package units

import (
	"fmt"
	"strings"
	"time"
)

// momentForms are the absolute times that people write, in their zone where they name none.
var momentForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// RequestMoment is a time that a person writes as a request has it: absolute with its zone, or +SPAN, which the clock of who takes
// the request makes absolute; empty for no time. Now is in that person's zone. A time of day alone is the next one.
func RequestMoment(text string, now time.Time) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "now":
		return "", nil
	case text[0] == '+':
		_, err := ParseMoment(text, now)
		return text, err
	}
	for _, form := range momentForms {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at.Format(time.RFC3339), nil
		}
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		day := now
		for n := range 3 { // the time of day may not be there today, where clocks are put forward
			day = now.AddDate(0, 0, n)
			at := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			if at.After(now) && at.Hour() == clock.Hour() {
				return at.Format(time.RFC3339), nil
			}
		}
	}
	return "", fmt.Errorf("%s is no time; write 18:30, '2026-12-24 18:30', 2026-12-24T18:30:00Z or +2h", Quoted(text))
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
		return at, fmt.Errorf("%s is no time; write 2026-12-24T18:30:00Z, with Z or a zone such as +01:00, or +2h", Quoted(text))
	}
	if at = at.UTC().Truncate(time.Second); at.Year() < 1 || at.Year() > 9999 {
		return at, fmt.Errorf("%s is out of range; write a year from 1 to 9999", Quoted(text))
	}
	return at, nil
}
