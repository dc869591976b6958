package farm

import (
	"cmp"
	"slices"
	"time"
)

// reservation keeps a host for the head of the queue, a job whose instances take several slots and fit
// nowhere: a thousand narrow jobs would else take every slot as it comes free. Others may use the host only
// if their item ends before the head can start (EASY backfill; Lifka, JSSPP 1995), by their mean item time.
type reservation struct {
	job  *job
	host *host
	at   time.Time // when enough slots will be free, by the mean item times
}

// unknownItem is what an item is taken to last while none of its job has ended.
const unknownItem = time.Hour

// reserve renews the reservation after a plan.
func (f *Farm) reserve(now time.Time, p *planned, b Plan) {
	old := f.reserved
	f.reserved = nil
	for _, n := range b.Order {
		j := p.jobs[n]
		if b.Jobs[n].Unplaced == 0 || j.needs.slots < 2 {
			continue
		}
		var best *reservation
		for at, h := range p.hosts {
			if !p.Hosts[at].Up || (p.Jobs[n].Eligible != nil && !slices.Contains(p.Jobs[n].Eligible, at)) {
				continue
			}
			r := reservation{job: j, host: h, at: h.freeAt(now, j.needs.slots)}
			if old != nil && old.job == j && old.host == h {
				best = &r // no wandering: what has been kept free so far counts
				break
			}
			if best == nil || r.at.Before(best.at) {
				best = &r
			}
		}
		if best != nil {
			f.reserved = best
			return
		}
	}
}

// freeAt estimates when so many slots are free on the host, if no instance there takes another item.
func (h *host) freeAt(now time.Time, slots int) time.Time {
	free := h.free()
	if free >= slots {
		return now
	}
	ending := h.sortedInstances()
	slices.SortStableFunc(ending, func(a, b *instance) int {
		return cmp.Compare(a.expectedEnd(now).UnixNano(), b.expectedEnd(now).UnixNano())
	})
	for _, i := range ending {
		if free += i.slots; free >= slots {
			return i.expectedEnd(now)
		}
	}
	return now.Add(unknownItem)
}

// expectedEnd of the item an instance runs; one that takes longer than usual may end any moment.
func (i *instance) expectedEnd(now time.Time) time.Time {
	end := i.attempt.StartedAt.Add(i.job.expectedItem())
	if end.Before(now) {
		return now
	}
	return end
}

func (j *job) expectedItem() time.Duration {
	if j.doneCount == 0 {
		return unknownItem
	}
	return time.Duration(j.meanItem() * float64(time.Second))
}

// mayUse says whether the job's next item may run on the host beside a reservation there.
func (f *Farm) mayUse(now time.Time, j *job, h *host) bool {
	r := f.reserved
	return r == nil || r.host != h || r.job == j || !now.Add(j.expectedItem()).After(r.at)
}
