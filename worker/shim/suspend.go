package shim

import "qb/worker/core"

// suspend has the item's tree stand still by order, or go on. The order may be repeated. It goes on only if its lease lasts, too.
func (s *shim) suspend(o SuspendOrder) {
	it := s.item
	if it == nil || it.order.Attempt != o.Attempt || it.over || it.stopped || s.suspended == o.Suspended {
		return
	}
	s.suspended = o.Suspended
	switch {
	case it.started == 0:
	case s.suspended:
		it.suspended = BootNow()
	default:
		it.stood, it.suspended = it.suspendedUntil(BootNow()), 0
	}
	s.checkLease()
}

// release ends a suspension before the item is stopped, so that it hears its TERM.
func (s *shim) release(it *shimItem) {
	s.suspend(SuspendOrder{Attempt: it.order.Attempt})
}

// suspendedUntil is how long the item was suspended by then.
func (it *shimItem) suspendedUntil(then core.Moment) core.Moment {
	if it.suspended == 0 {
		return it.stood
	}
	return it.stood + max(0, then-it.suspended)
}

// ran is how long the item had run by then: neither time limits nor what is learned of its job count the time for which it was
// suspended.
func (it *shimItem) ran(then core.Moment) core.Moment {
	return max(0, then-it.started-it.suspendedUntil(then))
}
