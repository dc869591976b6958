package limits

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What one enrolled worker may send: far more than a busy host needs, and little enough for a supervisor to refuse the
// rest beside its other work.
const (
	HostRate  = 1000 // requests a second in the long run
	HostBurst = 5000 // at once
	maxHosts  = 20_000
)

// Pace bounds how fast each worker sends requests.
type Pace struct {
	mu    sync.Mutex
	byKey map[string]*rate.Limiter
}

// NewPace has full allowances.
func NewPace() *Pace { return &Pace{byKey: map[string]*rate.Limiter{}} }

// Take takes a request from the allowance of the worker with that key.
func (p *Pace) Take(key string, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byKey[key]
	if l == nil {
		if len(p.byKey) >= maxHosts {
			clear(p.byKey)
		}
		l = rate.NewLimiter(HostRate, HostBurst)
		p.byKey[key] = l
	}
	if l.AllowN(now, 1) {
		return nil
	}
	return Beyond(HostRequests, time.Second, "this worker sends more than %d requests a second; it may send again in a moment", HostRate)
}
