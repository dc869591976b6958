package term

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// proofClock holds when the last proof of the term was asked for, on a clock that nobody sets and that goes
// on while the Machine sleeps: neither a wall clock that is put back nor a suspended machine makes an old
// proof look young.
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
