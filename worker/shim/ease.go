package shim

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// By how many nanoseconds the kernel may delay the end of a thread's sleep, to wake the processor less often.
const (
	usualSlack = 50_000
	shimSlack  = 1_000_000
)

// AtEase has start start a shim, whose threads the kernel may wake a little late. While an item starts or ends, Go's
// runtime looks every 20 microseconds what the program's threads do. The thread that looks exists before any line of
// the program has run, so it must be born with that. Its looks were a quarter of a shim's processor time. Events are
// not late, nor is the end of a lease, which has a timer of its own. Where the worker's service was given another value
// by its TimerSlackNSec, shims and items have that.
func AtEase(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack() != usualSlack {
		return start()
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, shimSlack, 0, 0, 0)
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, usualSlack, 0, 0, 0)
	return start()
}

// beUsual takes that off the calling thread, and so off what it forks.
func beUsual() {
	if slack() == shimSlack {
		unix.Prctl(unix.PR_SET_TIMERSLACK, usualSlack, 0, 0, 0)
	}
}

func slack() int {
	value, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) // no kernel refuses
	return value
}
