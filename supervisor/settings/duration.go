package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span that is written as text, such as "15m", "250ms" or "365d".
type Duration time.Duration

// Std is the standard library's form.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Day is a day of 24 hours.
const Day = 24 * time.Hour

// String leaves out zero parts: 15m, not 15m0s; whole days from two on are days.
func (d Duration) String() string {
	if whole := time.Duration(d); whole >= 2*Day && whole%Day == 0 {
		return strconv.FormatInt(int64(whole/Day), 10) + "d"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads, and whole days before it: 30d, 1d12h.
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	var days time.Duration
	if number, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no time span: write whole days, such as \"30d\"", text)
		}
		if days, s = time.Duration(n)*Day, rest; rest == "" {
			*d = Duration(days)
			return nil
		}
	}
	v, err := time.ParseDuration(s)
	if err != nil || days > 0 && (v < 0 || days+v < days) {
		return fmt.Errorf("%q is no time span: write a number with a unit, such as \"30s\", \"15m\" or \"30d\"", text)
	}
	*d = Duration(days + v)
	return nil
}

// Width is a max_cpus value: a number, or "*" (any negative number) for no limit but the site's.
type Width int

func (w Width) String() string {
	if w < 0 {
		return "*"
	}
	return strconv.Itoa(int(w))
}

// MarshalText is String.
func (w Width) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads an integer or "*".
func (w *Width) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "*" {
		*w = -1
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is neither a whole number nor \"*\"", s)
	}
	*w = Width(max(n, -1))
	return nil
}

// UnmarshalTOML reads an integer or "*".
func (w *Width) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case int64:
		*w = Width(max(v, -1))
		return nil
	case string:
		return w.UnmarshalText([]byte(v))
	}
	return fmt.Errorf("%v is neither a whole number nor \"*\"", value)
}
