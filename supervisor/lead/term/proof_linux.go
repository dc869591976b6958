package term

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// proofClock holds the time at which the last proof of the term was requested, on a monotonic clock that includes
// suspension of the machine: neither a change of the wall clock nor a suspension makes an old proof look recent.
type proofClock struct{ at atomic.Int64 }

// SinceBoot is the time since boot, sleep included.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", err)) // no Linux since 2.6.39 refuses
	}
	return time.Duration(ts.Nano())
}

func (p *proofClock) set(asked time.Duration) { p.at.Store(int64(asked)) }

func (p *proofClock) age() time.Duration { return SinceBoot() - time.Duration(p.at.Load()) }
