package span

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "0": 0, "1.5s": 1500 * time.Millisecond, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond,
		"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-5", "1.5", "-5m", "five", "5 m", "1e300", "NaN", "Inf", "5m90", "9999999999999h"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
	var s Seconds
	if err := s.Set("1h30m"); err != nil || s != 5400 {
		t.Errorf("1h30m: %d s, %v", s, err)
	}
	if err := s.Set("1.5s"); err == nil {
		t.Error("half a second is taken")
	}
}
