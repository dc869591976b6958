package span

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Parse reads a span; a number alone is in seconds.
func Parse(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is no time span; write seconds such as 90, or 5m, 1h30m or 7d", text)
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	var days time.Duration
	number, rest, found := strings.Cut(text, "d")
	if found {
		n, err := strconv.ParseUint(number, 10, 16)
		if days = time.Duration(n) * 24 * time.Hour; err != nil {
			return 0, wrong
		}
		if rest == "" {
			return days, nil
		}
		text = rest
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || days+d < days {
		return 0, wrong
	}
	return days + d, nil
}

// Var makes an option of a span.
func Var(flags *pflag.FlagSet, into *time.Duration, name string, standard time.Duration, usage string) {
	*into = standard
	flags.Var((*value)(into), name, usage)
}

type value time.Duration

func (v *value) String() string {
	s := time.Duration(*v).String() // 2m0s and 24h0m0s are written without their zeros
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		s = short + "m"
	}
	if short, ok := strings.CutSuffix(s, "h0m"); ok {
		s = short + "h"
	}
	return s
}

// Type names the kind of value.
func (v *value) Type() string { return "duration" }

func (v *value) Set(text string) error {
	d, err := Parse(text)
	if err == nil {
		*v = value(d)
	}
	return err
}

// Seconds is the value of an option that a request carries as whole seconds.
type Seconds int

func (s *Seconds) String() string { return strconv.Itoa(int(*s)) }

// Type names the kind of value.
func (s *Seconds) Type() string { return "duration" }

// Set reads a span of whole seconds.
func (s *Seconds) Set(text string) error {
	d, err := Parse(text)
	if err == nil && d%time.Second != 0 {
		err = fmt.Errorf("%q is not in whole seconds", text)
	}
	if err == nil {
		*s = Seconds(d / time.Second)
	}
	return err
}
