package farm

import (
	"cmp"
	"math"
	"time"

	"qb/supervisor/message"
)

// machine is the memory that agents with one machine id and one boot share. What others than the farm use
// of it is the word of the agent that spoke last.
type machine struct {
	hosts   []*host
	total   int64 // bytes, physical; 0: not said
	foreign int64 // bytes that cannot be had and that no agent's item has
}

// measure takes in what an agent says of its memory, its swap and the slots that others take, which it returns. Nonsense is
// clamped, marked and shown.
func (h *host) measure(e *message.WorkerSynced) (away int) {
	stressed := e.ClampStress(h.away)
	total, doubt := e.ClampMemory(h.machine.total)
	if h.doubt = ""; cmp.Or(doubt, stressed) != "" {
		h.doubt = "its agent reports " + cmp.Or(doubt, stressed)
	}
	h.reserve, h.available, h.machine.total, h.machine.foreign = e.Reserve, e.Available, total, e.Foreign
	h.swap, h.away = e.Swap, e.Away
	return h.away
}

// limited says whether the host's memory is known and therefore promised piece by piece.
func (h *host) limited() bool { return h.Memory > 0 && h.machine != nil && h.machine.total > 0 }

// resident is what the machine's items have, as far as they were heard of.
func (m *machine) resident() int64 {
	var sum int64
	for _, o := range m.hosts {
		for _, i := range o.instances {
			sum += i.memory
		}
	}
	return sum
}

// rooms are what may still be promised: of the machine, and of this host's own part of it. It is the
// memory available less what is promised and not yet resident, written so that a report of one agent and
// an older one of another do not count the same bytes twice: all there is, less what is foreign, less what
// each item was promised or has, whichever is more. The host's instance except, if any, is looked at as
// not there. Below zero if promises are not covered any more.
func (h *host) rooms(except *instance) (shared, own int64) {
	m := h.machine
	shared, own = m.total-m.foreign-h.reserve, h.Memory-h.summed().taken
	for _, o := range m.hosts {
		shared -= o.summed().taken
	}
	if except != nil {
		shared, own = shared+except.takes(), own+except.takes()
	}
	return shared, own
}

// takes is what the instance takes of its host's memory: what it was promised, or has.
func (i *instance) takes() int64 { return max(i.attempt.Memory, i.memory) }

// resides takes in what the instance's item has now.
func (i *instance) resides(bytes int64) {
	before := i.takes()
	if i.memory = bytes; i.takes() != before {
		i.job.changes++
		i.host.sums = nil
	}
}

// ledger is what the host may still promise; without limit if its memory is not known.
func (h *host) ledger(except *instance) int64 {
	if !h.limited() {
		return math.MaxInt64
	}
	shared, own := h.rooms(except)
	return min(shared, own)
}

// unused is what nobody has now of the memory that the host offers: of what is available on the machine that
// which is not in reserve, and no more than is left of the host's own part. What is promised and not yet
// resident is still in it, so that it is never less than the ledger.
func (h *host) unused() int64 {
	if !h.limited() {
		return h.available
	}
	m, own := h.machine, h.Memory
	for _, i := range h.instances {
		own -= i.memory
	}
	return max(0, min(m.total-m.foreign-h.reserve-m.resident(), own))
}

// announce is the ledger for each idle slot, of all agents of the machine: what the seed calls the memory
// of an idle worker.
func (h *host) announce() int64 {
	if !h.limited() {
		return 0
	}
	shared, own := h.rooms(nil)
	idle := 0
	for _, o := range h.machine.hosts {
		if o.Heard {
			idle += max(0, o.free())
		}
	}
	if idle == 0 || h.free() <= 0 {
		return 0
	}
	return max(0, min(shared/int64(idle), own/int64(h.free())))
}

// needOn is what an instance of the job is promised on a host where it takes so many slots: its need, and
// before anything is known of it a slot's part of the host, at most the site's default.
func (ad *admission) needOn(j *job, h *host, slots int) int64 {
	if j.memoryNeed > 0 || !h.limited() {
		return j.memoryNeed
	}
	return min(ad.policy.Memory.Default, h.announce()*int64(max(1, slots)))
}

// fitsMemory says whether the ledger admits one more instance of the job.
func (ad *admission) fitsMemory(now time.Time, j *job, h *host, slots int) bool {
	if !h.limited() {
		return true
	}
	if now.Before(h.fullUntil) {
		return false
	}
	need := ad.needOn(j, h, slots)
	return need <= h.ledger(nil) && (need > 0 || ad.policy.Memory.Default == 0)
}

// promise is the memory that the instance's next attempt is promised, in the commit that starts it. An
// instance that goes on keeps its promise; a need that rose must fit, else the instance closes.
func (f *Farm) promise(now time.Time, i *instance) (int64, bool) {
	if i.attempt.Number == 0 {
		return f.admission.needOn(i.job, i.host, i.slots), f.admission.fitsMemory(now, i.job, i.host, i.slots)
	}
	if len(i.job.Memory.Raised) > 0 {
		f.admission.refreshNeed(now, i.job)
	}
	need, old := i.job.memoryNeed, i.attempt.Memory
	switch {
	case need == 0 || !i.host.limited():
		return max(need, old), true
	case need <= old:
		f.planStale = f.planStale || (need < old && len(f.waitingForMemory) > 0)
		return need, true
	}
	return need, need <= i.host.ledger(i)
}

// memoryForPlan is what the plan may divide on the host: the ledger, and what goes with those who may go.
// Negative stands for no limit.
func (h *host) memoryForPlan() int64 {
	if !h.limited() {
		return -1
	}
	return max(0, h.ledger(nil)+h.endingMemory()+h.summed().planned)
}

// comingMemory is what the host may still promise once those on their way out have gone.
func (h *host) comingMemory() int64 {
	if !h.limited() {
		return math.MaxInt64
	}
	return h.ledger(nil) + h.endingMemory()
}

// endingMemory is what comes free with those on their way out.
func (h *host) endingMemory() int64 {
	if !h.limited() {
		return 0
	}
	return h.summed().leaving
}

// memoryForPlan is an instance's need as the plan sees it: something, even while nothing is known of it. Before that
// another is promised a part of what a host has left, so that it fits wherever there is any.
func (j *job) memoryForPlan() int64 { return max(1, j.memoryNeed) }

// memoryForPlan is what goes free with the instance.
func (i *instance) memoryForPlan() int64 { return max(1, i.takes()) }
