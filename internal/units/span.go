package units

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Day is a day of 24 hours.
const Day = 24 * time.Hour

// spanForms is what to write, by the unit of a number alone, with which it begins.
var spanForms = map[time.Duration]string{time.Second: "seconds such as 90, or 5m, 1h30m or 7d",
	Day: "days such as 90, or 90d"}

// ParseSpan reads a time span such as 90s, 5m, 1h30m, 7d or 1d12h. A number alone is of the unit alone, which is
// time.Second or Day. No span is negative, and none has a sign.
func ParseSpan(text string, alone time.Duration) (time.Duration, error) {
	days, rest := "0", strings.TrimSpace(text)
	if strings.Trim(rest, ".0123456789") == "" {
		rest += spanForms[alone][:1]
	}
	if before, after, found := strings.Cut(rest, "d"); found {
		days, rest = before, cmp.Or(after, "0")
	}
	n, wrong := strconv.ParseUint(days, 10, 16)
	span, err := time.ParseDuration(rest)
	if sum := time.Duration(n)*Day + span; wrong == nil && err == nil && sum >= span && !strings.ContainsAny(rest, "+-") {
		return sum, nil
	}
	return 0, fmt.Errorf("%s is not a time span; write %s", Quoted(text), spanForms[alone])
}

// Span is a time span as an option and as a key of qb.conf. A number alone is in seconds.
type Span time.Duration

// Std is the standard library's form.
func (s Span) Std() time.Duration { return time.Duration(s) }

// String leaves out zero parts: 15m, not 15m0s; whole days from two on are days.
func (s Span) String() string {
	if s >= Span(2*Day) && s%Span(Day) == 0 {
		return strconv.FormatInt(int64(s/Span(Day)), 10) + "d"
	}
	text := s.Std().String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// MarshalText is String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a span.
func (s *Span) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// Set reads a span as the value of an option.
func (s *Span) Set(text string) error {
	span, err := ParseSpan(text, time.Second)
	if err == nil {
		*s = Span(span)
	}
	return err
}

// Type names the kind of value.
func (s *Span) Type() string { return "duration" }

// Seconds is the value of an option that a request carries as whole seconds.
type Seconds int

func (s *Seconds) String() string { return strconv.Itoa(int(*s)) }

// Type names the kind of value.
func (s *Seconds) Type() string { return "duration" }

// Set reads a span of whole seconds.
func (s *Seconds) Set(text string) error { return setWhole((*int)(s), text, time.Second) }

// Days is the value of an option that a request carries as whole days. A number alone is in days.
type Days int

func (d *Days) String() string { return strconv.Itoa(int(*d)) }

// Type names the kind of value.
func (d *Days) Type() string { return "duration" }

// Set reads a span of whole days.
func (d *Days) Set(text string) error { return setWhole((*int)(d), text, Day) }

func setWhole(into *int, text string, unit time.Duration) error {
	span, err := ParseSpan(text, unit)
	if err == nil && span%unit != 0 {
		err = fmt.Errorf("%s is not whole; write %s", Quoted(text), spanForms[unit])
	}
	if err == nil {
		*into = int(span / unit)
	}
	return err
}
