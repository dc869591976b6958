package units

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, " 90 ": 90 * time.Second, "0": 0, "0s": 0, "0d": 0, "1.5": 1500 * time.Millisecond, "1.5s": 1500 * time.Millisecond,
		"4294967295": 4294967295 * time.Second, "5m": 5 * time.Minute, " 5m\n": 5 * time.Minute, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond,
		"7d": 7 * Day, "1d12h": 36 * time.Hour, "36500d": 36500 * Day, "1d0.5h": 24*time.Hour + 30*time.Minute,
	} {
		if got, err := ParseSpan(text, time.Second); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", ".", "-5", "-5m", "-1d", "1d-1h", "+90", "+5m", "1..5", "five", "5 m", "1e300", "NaN", "Inf", "5m90", "d", "1.5d", "3 days", "1d 12h", "1h1d",
		"9999999999999h", "99999d", "65535d2540400h", "9999999999999",
	} {
		got, err := ParseSpan(text, time.Second)
		if want := Quoted(text) + " is not a time span; write seconds such as 90, or 5m, 1h30m or 7d"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestSpanString(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", 10 * time.Second: "10s", 2 * time.Hour: "2h", 250 * time.Millisecond: "250ms",
		time.Hour + 5*time.Second: "1h0m5s", 10 * time.Hour: "10h", Day: "24h", 36 * time.Hour: "36h", 2 * Day: "2d", 365 * Day: "365d", -time.Minute: "-1m",
	} {
		if got := Span(span).String(); got != want {
			t.Errorf("%v: %s, want %s", span, got, want)
		}
	}
}

// TestSpansReadBack: what is written for a span is read as that span.
func TestSpansReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Millisecond, time.Second, time.Minute, time.Hour, Day}).Draw(t, "unit")
		want, got := Span(unit)*Span(rapid.Int64Range(0, 36500).Draw(t, "count")), Span(-1)
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Fatalf("%d is written %s and read as %d, %v", want, want, got, err)
		}
	})
}

// TestWholeSpans: what a number alone means is the only difference between options for seconds and for days.
func TestWholeSpans(t *testing.T) {
	t.Parallel()
	var s Seconds
	var d Days
	for text, want := range map[string][2]int{"30": {30, 30}, "0": {0, 0}, "7d": {7 * 86400, 7}, "48h": {2 * 86400, 2}, "1d24h": {2 * 86400, 2}} {
		if err := s.Set(text); err != nil || int(s) != want[0] {
			t.Errorf("%s: %d s, %v", text, s, err)
		}
		if err := d.Set(text); err != nil || int(d) != want[1] {
			t.Errorf("%s: %d days, %v", text, d, err)
		}
	}
	s, d = 1, 1
	for text, want := range map[string]string{
		"1.5s": `"1.5s" is not whole; write seconds such as 90, or 5m, 1h30m or 7d`, "1.5": `"1.5" is not whole; write seconds such as 90, or 5m, 1h30m or 7d`,
		"soon": `"soon" is not a time span; write seconds such as 90, or 5m, 1h30m or 7d`,
	} {
		if err := s.Set(text); err == nil || err.Error() != want || s != 1 {
			t.Errorf("%s: %d s, %v; want %s", text, s, err, want)
		}
	}
	for text, want := range map[string]string{
		"36h": `"36h" is not whole; write days such as 90, or 90d`, "soon": `"soon" is not a time span; write days such as 90, or 90d`,
		"-1": `"-1" is not a time span; write days such as 90, or 90d`,
	} {
		if err := d.Set(text); err == nil || err.Error() != want || d != 1 {
			t.Errorf("%s: %d days, %v; want %s", text, d, err, want)
		}
	}
}
