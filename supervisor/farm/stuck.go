package farm

import (
	"fmt"
	"time"

	"qb/supervisor/facts"
)

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
	f.lockForAWhile(now, h, fmt.Sprintf("processes of %s outlive KILL here, look at its file systems", i.name()))
}
