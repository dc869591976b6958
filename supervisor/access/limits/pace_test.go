package limits

import (
	"testing"
	"time"
)

// A worker's flood ends at its allowance, which grows again with time; others have their own.
func TestPace(t *testing.T) {
	p, now, taken := NewPace(), time.Now(), 0
	for range 3 * HostBurst {
		if p.Take("mallory", now) == nil {
			taken++
		}
	}
	if taken != HostBurst || p.Take("other", now) != nil {
		t.Errorf("%d of %d are taken", taken, 3*HostBurst)
	}
	if now = now.Add(time.Second); p.Take("mallory", now) != nil {
		t.Error("a second later nothing is taken")
	}
}

// So does the output that it ships, apart from its requests.
func TestPaceOfOutput(t *testing.T) {
	p, now, taken := NewPace(), time.Now(), 0
	for range 2 * LogBurst >> 20 {
		if p.TakeOutput("mallory", 1<<20, now) == nil {
			taken += 1 << 20
		}
	}
	if taken != LogBurst || p.TakeOutput("other", 1<<20, now) != nil || p.Take("mallory", now) != nil {
		t.Errorf("%d bytes are taken", taken)
	}
	if now = now.Add(time.Second); p.TakeOutput("mallory", LogRate, now) != nil ||
		p.TakeOutput("mallory", 1<<20, now) == nil {
		t.Error("a second later another amount is taken than that of a second")
	}
}
