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
