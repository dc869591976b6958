package farm

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// ample is the proof that memory decides nothing: every host could hold the neediest instance in each of its
// slots. Of hosts only those are weighed again where something was promised, ended or told; both bounds only
// come closer until the next whole plan, which may find that they did so for nothing.
type ample struct {
	most    int64 // bytes: no instance of a planned job needs more
	least   int64 // bytes: no host has less for each of its slots
	stirred []*machine
}

// prove weighs all needs and all hosts.
func (a *ample) prove(f *Farm, p *planned) {
	*a = ample{least: math.MaxInt64}
	for _, j := range p.jobs {
		a.admit(f, j)
	}
	for _, h := range p.hosts {
		if h.machine != nil {
			h.machine.stirred = false // whom another division had stirred
		}
	}
	for _, h := range p.hosts {
		a.stir(h)
	}
}

// decides says whether memory may decide where instances run, as far as is known.
func (a *ample) decides() bool {
	a.weigh()
	return a.most > a.least
}

// admit takes in a job's need. Of one that is unknown only an upper bound counts: what its instances were
// promised, or will be.
func (a *ample) admit(f *Farm, j *job) {
	need := j.book.need
	if need == 0 {
		need = max(1, f.policy.Memory.Default)
		for _, i := range j.instances {
			need = max(need, i.attempt.Memory)
		}
	}
	a.most = max(a.most, need)
}

// learned takes in that a planned job's need has changed.
func (a *ample) learned(j *job) {
	a.most = max(a.most, j.book.need)
}

// stir has the host weighed again, with all that share its memory.
func (a *ample) stir(h *host) {
	if m := h.machine; m != nil && !m.stirred {
		m.stirred = true
		a.stirred = append(a.stirred, m)
	}
}

func (a *ample) weigh() {
	for _, m := range a.stirred {
		m.stirred = false
		a.least = min(a.least, m.leastForSlot(a.most))
	}
	a.stirred = a.stirred[:0]
}

// leastForSlot is what its poorest host has for each of its slots, with all that a plan could take back there:
// see memoryForPlan, which it never exceeds. What an instance has beyond the most that any needs counts for nothing.
func (m *machine) leastForSlot(most int64) int64 {
	shared := m.total - m.foreign
	for _, h := range m.hosts {
		shared -= h.summed().taken
	}
	least := int64(math.MaxInt64)
	for _, h := range m.hosts {
		if !h.limited() || h.Slots <= 0 {
			continue
		}
		own, back := h.Memory-h.summed().taken, int64(0)
		for _, i := range h.instances {
			back += min(most, i.takes())
		}
		least = min(least, h.Memory, max(0, min(shared-h.reserve, own)+back)/int64(h.Slots))
	}
	return least
}

// stir notes that there is more or less memory on the host than there was.
func (f *Farm) stir(h *host) {
	if f.ongoing != nil {
		f.ongoing.ample.stir(h)
	}
}

// needLearned notes that what the job needs may have changed.
func (f *Farm) needLearned(j *job) {
	if f.ongoing == nil {
		return
	}
	if _, known := f.ongoing.claimOf(j); known {
		f.ongoing.ample.learned(j)
	}
}

// seats are the hosts of the class with a free slot, in the order in which the site wants them tried.
func (w *changer) seats(class int) []seatable {
	hosts := slices.DeleteFunc(w.o.open[class], func(h *host) bool {
		h.listed = h.free() > 0
		return !h.listed
	})
	w.o.open[class] = hosts
	seats := make([]seatable, 0, len(hosts))
	for _, h := range hosts {
		seats = append(seats, w.seat(h))
	}
	slices.SortFunc(seats, w.f.compareSeats)
	return seats
}

func (w *changer) seat(h *host) seatable { return seatable{h.place, h.ledger(nil), h.free()} }

// taken puts the n-th host, where an instance has started, where it belongs now, and those that share its memory.
func (w *changer) taken(seats []seatable, n int) []seatable {
	h := w.host(seats[n])
	if h.limited() && len(h.machine.hosts) > 1 {
		for k := range seats {
			seats[k] = w.seat(w.host(seats[k]))
		}
		slices.SortFunc(seats, w.f.compareSeats)
		return slices.DeleteFunc(seats, func(s seatable) bool { return s.free <= 0 })
	}
	seats = slices.Delete(seats, n, n+1)
	if h.free() > 0 {
		s := w.seat(h)
		to, _ := slices.BinarySearchFunc(seats, s, w.f.compareSeats)
		seats = slices.Insert(seats, to, s)
	}
	return seats
}

func (w *changer) host(s seatable) *host { return w.f.sortedHosts()[s.host] }

// compareSeats orders hosts as the site wants them tried.
func (f *Farm) compareSeats(a, b seatable) int {
	ledger, free := cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.free, b.free)
	switch f.policy.Memory.Placement {
	case "spread":
		return cmp.Or(-ledger, -free, cmp.Compare(a.host, b.host))
	case "pack":
		return cmp.Or(free, ledger, cmp.Compare(a.host, b.host))
	}
	return cmp.Or(ledger, free, cmp.Compare(a.host, b.host))
}

// bestSeat is the place in the list, ordered by compareSeats, of the host where the job's next instance goes of
// those that may take it: with best_fit that with the least memory that suffices. It is -1 if none can.
func (f *Farm) bestSeat(now time.Time, j *job, need int64, list []seatable, may func(seatable, *host) bool) int {
	from := 0
	if f.policy.Memory.Placement == "best_fit" {
		from, _ = slices.BinarySearchFunc(list, need, func(c seatable, need int64) int { return cmp.Compare(c.ledger, need) })
	}
	best := -1
	var most int64
	hosts := f.sortedHosts()
	for n := from; n < len(list); n++ {
		h := hosts[list[n].host]
		if j.needs.grant(h) == 0 || !may(list[n], h) || !f.refusal(now, h, j, nil).serves() || f.startable(j.needs, h) == 0 ||
			!f.fitsMemory(now, j, h, j.needs.slots) {
			continue
		}
		if j.book.need > 0 || f.needOn(j, h, j.needs.slots) >= f.policy.Memory.Default {
			return n
		}
		if share := h.announce(); best < 0 || share > most {
			best, most = n, share // nothing is known of its need: where it has most
		}
	}
	return best
}
