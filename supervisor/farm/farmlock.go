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
func (f *Farm) lockForAWhile(now time.Time, h *host, why facts.Why) {
	h.LockedBy, h.LockReason = lockedByFarm, why.Cause
	h.lock.wait = min(max(2*h.lock.wait, farmLockWait), farmLockMost)
	h.lock.ends = now.Add(h.lock.wait)
	why.Params.Limit, why.Cause = int64(h.lock.wait.Seconds()), h.lockText()
	f.putHost(h)
	f.out.Record(now, facts.EventFacts{Type: "host-locked", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: why})
	f.planStale = true
}

// maybeUnlock ends the farm's lock of a host when its time is over and no process there outlives KILL.
func (f *Farm) maybeUnlock(now time.Time, h *host) {
	if h.LockedBy != lockedByFarm || now.Before(h.lock.ends) || h.anyStuck() || f.out.Spent() {
		return
	}
	why := facts.Why{Reason: facts.ReasonLockEnded, Params: facts.Params{Limit: int64(h.lock.wait.Seconds())}}
	why.Cause = fmt.Sprintf("it was locked for %.0f minutes: %s", h.lock.wait.Minutes(), h.LockReason)
	h.LockedBy, h.LockReason = "", ""
	f.putHost(h)
	f.out.Record(now, facts.EventFacts{Type: "host-unlocked", Host: h.ID, Item: -1, Instance: -1, By: lockedByFarm, Why: why})
	f.planStale = true
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

// watchStuck takes a worker's word that an instance's processes outlive KILL, or do so no more. They hang in
// the kernel, on a file server mostly, and others would after them: the host takes nothing new while there
// are such processes, or until a person unlocks it, and the item runs nowhere else until its end is proven by a record, a reboot or a person.
func (f *Farm) watchStuck(now time.Time, i *instance, state string) {
	was := i.stuck
	i.stuck = state == "unkillable"
	if was == i.stuck || !i.stuck {
		return
	}
	h := i.host
	cause := fmt.Sprintf("its processes on %s outlive KILL; the item waits for their end, a reboot, or qbadmin worker -confirm-dead %s", h.ID, h.ID)
	f.out.Record(now, facts.EventFacts{Type: "unkillable", Job: i.job.ID, Item: i.attempt.Item, Instance: i.number, Host: h.ID, By: lockedByFarm, Why: facts.Why{Cause: cause}})
	if h.LockedBy != "" {
		return
	}
	f.lockForAWhile(now, h, facts.Why{Reason: facts.ReasonProcessesOutlive, Params: facts.Params{Job: i.job.ID},
		Cause: fmt.Sprintf("processes of %s outlive KILL here, look at its file systems", i.name())})
}
