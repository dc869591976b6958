package farm

import (
	"fmt"
	"time"

	"qb/supervisor/facts"
)

// farmLock is the farm's own lock of a host. It ends by itself, unlike a person's. A term that finds one begins its wait anew.
type farmLock struct {
	ends time.Time
	wait time.Duration // that it began with; doubled by the next lock, until an item is done on the host
}

// lockForAWhile keeps new items from a host that nobody has locked.
func (f *Farm) lockForAWhile(now time.Time, h *host, reason string) {
	h.LockedBy, h.LockReason = lockedByFarm, reason
	h.lock.wait = min(max(2*h.lock.wait, farmLockWait), farmLockMost)
	h.lock.ends = now.Add(h.lock.wait)
	f.putHost(h)
	f.out.Record(now, facts.EventFacts{Type: "host-locked", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: h.lockText()}})
	f.dirty = true
}

// maybeUnlock ends the farm's lock of a host when its time is over and no process there outlives KILL.
func (f *Farm) maybeUnlock(now time.Time, h *host) {
	if h.LockedBy != lockedByFarm || now.Before(h.lock.ends) || h.anyStuck() || f.out.Spent() {
		return
	}
	cause := fmt.Sprintf("it was locked for %.0f minutes: %s", h.lock.wait.Minutes(), h.LockReason)
	h.LockedBy, h.LockReason = "", ""
	f.putHost(h)
	f.out.Record(now, facts.EventFacts{Type: "host-unlocked", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: facts.Why{Cause: cause}})
	f.dirty = true
}

// lockText says why the farm keeps new items from the host, and what ends that.
func (h *host) lockText() string {
	text := fmt.Sprintf("%s; unlocked by itself %.0f minutes later", h.LockReason, h.lock.wait.Minutes())
	if h.anyStuck() {
		text += ", if none does any more"
	}
	return text
}

func (h *host) anyStuck() bool {
	for _, i := range h.instances {
		if i.stuck {
			return true
		}
	}
	return false
}
