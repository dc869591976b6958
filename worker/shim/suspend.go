package shim

import "qb/worker/core"

// suspend has the item's tree stand still by order, or go on. The order may be repeated. It goes on only if its lease
// lasts, too.
func (s *shim) suspend(o SuspendCommand) {
	it := s.item
	if it == nil || it.order.Attempt != o.Attempt || it.over || it.stopped {
		return
	}
	s.suspensionID = o.SuspensionID
	if s.suspended != o.Suspended {
		s.suspended = o.Suspended
		s.timeSuspension(it)
		s.checkLease()
	}
	s.sayUnstarted(it)
}

// timeSuspension begins or ends the time for which the item is suspended.
func (s *shim) timeSuspension(it *shimItem) {
	switch {
	case it.started == 0:
	case s.suspended:
		it.suspended = BootNow()
	default:
		it.stood, it.suspended = it.suspendedUntil(BootNow()), 0
	}
}

// provenSuspension is the number of the suspension under which nothing of the item runs, 0 if something may. It is no
// more than what the last look found: a tree that is to stand still may not do so yet.
func (s *shim) provenSuspension(it *shimItem) int64 {
	still := s.frozen && s.frozenAt.IsZero()
	p := s.program
	if p == nil || p.pid == 0 {
		still = p == nil
	}
	if !s.suspended || !still || it.over || it.stopped || p != nil && p.killing {
		return 0
	}
	return s.suspensionID
}

// sayUnstarted tells the agent of an item, nothing of which runs yet or between two stages, that it is frozen.
func (s *shim) sayUnstarted(it *shimItem) {
	switch n := s.provenSuspension(it); {
	case n == 0 || s.program != nil:
	case it.meter != nil:
		s.sayMeasured()
	default:
		s.say(Report{Sample: &sample{SuspensionID: n}})
	}
}

// suspendedUntil is how long the item was suspended by then.
func (it *shimItem) suspendedUntil(then core.Moment) core.Moment {
	if it.suspended == 0 {
		return it.stood
	}
	return it.stood + max(0, then-it.suspended)
}

// ran is how long the item had run by then: neither time limits nor what is learned of its job count the time for which
// it was suspended.
func (it *shimItem) ran(then core.Moment) core.Moment {
	return max(0, then-it.started-it.suspendedUntil(then))
}
