package shim

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"qb/worker/core"
)

// bootTimer rings at a moment of the boot-time clock, at once after a suspend that slept past it.
type bootTimer struct {
	fd   int
	file *os.File // of the same, for reading
}

func newBootTimer() (*bootTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making a timer on CLOCK_BOOTTIME: %w", err)
	}
	return &bootTimer{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

func (t *bootTimer) set(at core.Moment) error {
	return unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME,
		&unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(at, 1)))}, nil)
}

func (t *bootTimer) run(ring func()) {
	var count [8]byte // how often it rang, never 0
	for {
		if _, err := t.file.Read(count[:]); err != nil {
			return
		}
		ring()
	}
}

// setLease sets the lease end that the agent sent. It may be later or earlier than the last one.
func (s *shim) setLease(end core.Moment) {
	s.lease = end
	if err := s.leaseTimer.set(end); err != nil {
		s.after(max(0, end-BootNow()), s.checkLease)
	}
	s.checkLease()
}

// checkLease freezes or thaws the tree, as the lease and the order to suspend it say now. A program that is kept, and
// has no item when the lease ends, is ended.
func (s *shim) checkLease() {
	still := s.suspended || BootNow() >= s.lease
	switch it, p := s.item, s.program; {
	case p == nil || p.pid == 0:
		if it != nil && !still {
			s.maybeLaunch(it)
		}
	case it == nil:
		if still {
			s.killKept(p, "the host had no contact with the supervisor until its lease ended")
		}
	case still && !s.frozen && !p.exited:
		s.frozen, s.frozenAt = true, time.Now()
		s.keepFrozen(p)
	case !still:
		if s.frozen {
			s.frozen, it.frozen = false, 0
			s.tree.Thaw()
			s.sayMeasured()
		}
		s.maybeLaunch(it)
	}
}

// keepFrozen freezes and looks again as long as the tree is to stand still, for a person or a program may wake
// what was stopped. A tree that outruns the end of its lease is killed.
func (s *shim) keepFrozen(p *program) {
	it := s.item
	if it == nil || !s.frozen || s.program != p || p.treeGone || p.killing {
		return
	}
	again := time.Second
	if s.tree.Freeze() {
		s.frozenAt = time.Time{}
		if it.frozen == 0 {
			it.frozen = BootNow()
		}
	} else {
		again = 10 * time.Millisecond
		if s.frozenAt.IsZero() {
			s.frozenAt = time.Now()
		} else if time.Since(s.frozenAt) > freezeWait && BootNow() >= s.lease {
			it.stopped, it.reason = true,
				"the host's lease ended without an answer of the supervisor, and the item's processes could not be frozen"
			s.kill(p, killRepeat)
		}
	}
	s.sayMeasured()
	s.after(again, func() { s.keepFrozen(p) })
}
