package limits

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"qb/internal/units"
)

// What one enrolled worker may send: far more than a busy host needs, and little enough for a supervisor to refuse the
// rest beside its other work.
const (
	HostRate  = 1000      // requests a second in the long run
	HostBurst = 5000      // at once
	LogRate   = 128 << 20 // bytes of output a second in the long run: as a network of 1 Gbit/s gives
	LogBurst  = 1 << 30   // at once, as after an outage
	maxHosts  = 20_000
)

// Pace bounds how fast each worker sends requests and output.
type Pace struct {
	mu    sync.Mutex
	byKey map[string]*hostPace
}

type hostPace struct{ requests, output *rate.Limiter }

// NewPace has full allowances.
func NewPace() *Pace { return &Pace{byKey: map[string]*hostPace{}} }

func (p *Pace) of(key string) *hostPace {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.byKey[key]
	if h == nil {
		if len(p.byKey) >= maxHosts {
			clear(p.byKey)
		}
		h = &hostPace{rate.NewLimiter(HostRate, HostBurst), rate.NewLimiter(LogRate, LogBurst)}
		p.byKey[key] = h
	}
	return h
}

// Take takes a request from the allowance of the worker with that key.
func (p *Pace) Take(key string, now time.Time) error {
	if p.of(key).requests.AllowN(now, 1) {
		return nil
	}
	return Beyond(HostRequests, time.Second,
		"this worker sends more than %d requests a second; it may send again in a moment", HostRate)
}

// TakeOutput takes so many bytes of output from it.
func (p *Pace) TakeOutput(key string, bytes int, now time.Time) error {
	if p.of(key).output.AllowN(now, bytes) {
		return nil
	}
	return Beyond(HostOutput, time.Second,
		"this worker ships more than %s of output a second; it may ship the rest in a moment", units.Size(LogRate))
}
