package supervisor

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// proofClock keeps when the last proof of the term was asked for, on a clock that nobody sets and that goes
// on while the machine sleeps: neither a wall clock that is put back nor a suspended machine makes an old
// proof look young.
type proofClock struct{ at atomic.Int64 }

// sinceBoot is the time since boot, sleep included.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", err)) // no Linux since 2.6.39 refuses
	}
	return time.Duration(ts.Nano())
}

func (p *proofClock) set(asked time.Duration) { p.at.Store(int64(asked)) }

func (p *proofClock) age() time.Duration { return sinceBoot() - time.Duration(p.at.Load()) }
