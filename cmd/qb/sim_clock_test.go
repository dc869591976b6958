package main

import (
	"testing"
	"time"
	"unsafe"
)

// simTime is the memory of a time.Time. There is no other way to make one whose monotonic reading is not that of
// this very process; TestWithMonotonic holds it against what the package does.
type simTime struct {
	wall uint64 // a flag, 33 bits of seconds since 1885, 30 bits of nanoseconds
	ext  int64  // the monotonic reading
	loc  *time.Location
}

var simEra = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC)

// withMonotonic is a time as time.Now gives it: what the wall clock says, and a reading of the monotonic clock.
func withMonotonic(wall time.Time, monotonic time.Duration) time.Time {
	out := simTime{
		wall: 1<<63 | uint64(wall.Unix()-simEra.Unix())<<30 | uint64(wall.Nanosecond()),
		ext:  int64(monotonic) + 1, loc: time.UTC,
	}
	return *(*time.Time)(unsafe.Pointer(&out))
}

func TestWithMonotonic(t *testing.T) {
	early, late := withMonotonic(simStart, time.Minute), withMonotonic(simStart.Add(-time.Hour), time.Minute+time.Second)
	if !early.Round(0).Equal(simStart) || !late.Round(0).Equal(simStart.Add(-time.Hour)) {
		t.Errorf("the wall clocks say %s and %s", early, late)
	}
	if d := late.Sub(early); d != time.Second || !late.After(early) || late.Add(time.Hour).Sub(early) != time.Hour+time.Second {
		t.Errorf("with the clock put back by an hour %s pass, not 1 s", d)
	}
	if d := late.Round(0).Sub(early.Round(0)); d != -time.Hour {
		t.Errorf("read back from a row the times are %s apart, not an hour", d)
	}
}
