package model

import (
	"cmp"
	"math"

	"qb/supervisor/farm/message"
)

// Machine is the memory that agents with one machine id and one boot share. What others than the farm use
// of it is the word of the agent that spoke last.
type Machine struct {
	Hosts   []*Host
	total   int64 // bytes, physical; 0: not said
	foreign int64 // bytes that cannot be had and that no agent's item has
}

// Measure takes in what an agent says of its memory, its swap and the slots that others take, which it returns.
// Nonsense is clamped, marked and shown.
func (h *Host) Measure(e *message.WorkerSynced) (away int) {
	stressed := e.ClampStress(h.Away)
	total, doubt := e.ClampMemory(h.Machine.total)
	if h.doubt = ""; cmp.Or(doubt, stressed) != "" {
		h.doubt = "its agent reports " + cmp.Or(doubt, stressed)
	}
	h.reserve = e.Reserve
	h.Available = e.Available
	h.Machine.total = total
	h.Machine.foreign = e.Foreign
	h.swap = e.Swap
	h.Away = e.Away
	h.KeptFor = e.KeptFor
	return h.Away
}

// Limited says whether the host's memory is known and therefore promised piece by piece.
func (h *Host) Limited() bool { return h.Memory > 0 && h.Machine != nil && h.Machine.total > 0 }

// resident is what the machine's items have, as far as they were heard of.
func (m *Machine) resident() int64 {
	var sum int64
	for _, o := range m.Hosts {
		sum += o.Summed().resident
	}
	return sum
}

// rooms are what may still be promised: of the machine, and of this host's own part of it. It is the
// memory available less what is promised and not yet resident, written so that a report of one agent and
// an older one of another do not count the same bytes twice: all there is, less what is foreign, less what
// each item was promised or has, whichever is more. The host's instance except, if any, is looked at as
// not there. Below zero if promises are not covered any more.
func (h *Host) rooms(except *Instance) (shared, own int64) {
	m := h.Machine
	shared, own = m.total-m.foreign-h.reserve, h.Memory-h.Summed().taken
	for _, o := range m.Hosts {
		shared -= o.Summed().taken
	}
	if except != nil {
		shared, own = shared+except.Takes(), own+except.Takes()
	}
	return shared, own
}

// Takes is what the instance takes of its host's memory: what it was promised, or has.
func (i *Instance) Takes() int64 { return max(i.Attempt.Memory, i.Memory) }

// Resides takes in what the instance's item has now.
func (i *Instance) Resides(bytes int64) {
	before := i.Takes()
	if i.Host.Sums != nil {
		i.Host.Sums.resident += bytes - i.Memory
	}
	if i.Memory = bytes; i.Takes() != before {
		i.Job.Changed()
		i.Host.Sums = nil
	}
}

// Ledger is what the host may still promise; without limit if its memory is not known.
func (h *Host) Ledger(except *Instance) int64 {
	if !h.Limited() {
		return math.MaxInt64
	}
	shared, own := h.rooms(except)
	return min(shared, own)
}

// unused is the memory that the host offers and no instance has now: of what is available on the machine that
// which is not in reserve, and no more than is left of the host's own part. What is promised and not yet
// resident is still in it, so that it is never less than the ledger.
func (h *Host) unused() int64 {
	if !h.Limited() {
		return h.Available
	}
	m, own := h.Machine, h.Memory-h.Summed().resident
	return max(0, min(m.total-m.foreign-h.reserve-m.resident(), own))
}

// Announce is the ledger for each idle slot, of all agents of the machine: what the seed calls the memory
// of an idle worker.
func (h *Host) Announce() int64 {
	if !h.Limited() {
		return 0
	}
	shared, own := h.rooms(nil)
	idle := 0
	for _, o := range h.Machine.Hosts {
		if o.Heard {
			idle += max(0, o.Free())
		}
	}
	if idle == 0 || h.Free() <= 0 {
		return 0
	}
	return max(0, min(shared/int64(idle), own/int64(h.Free())))
}

// MemoryForPlan is what the plan may divide on the host: the ledger, and what goes with instances that may give way.
// Negative means no limit.
func (h *Host) MemoryForPlan() int64 {
	if !h.Limited() {
		return -1
	}
	return max(0, h.Ledger(nil)+h.EndingMemory()+h.Summed().planned)
}

// ComingMemory is what the host may still promise once those on their way out have gone; without bound if there is no
// limit.
func (h *Host) ComingMemory() int64 { return h.Ledger(nil) + h.EndingMemory() }

// EndingMemory is what comes free with those on their way out.
func (h *Host) EndingMemory() int64 {
	if !h.Limited() {
		return 0
	}
	return h.Summed().endingMemory
}

// MemoryForPlan is an instance's need as the plan sees it: something, even while nothing is known of it. Before that
// another is promised a part of what a host has left, so that it fits wherever there is any.
func (j *Job) MemoryForPlan() int64 { return max(1, j.MemoryNeed) }

// memoryForPlan is what goes free with the instance.
func (i *Instance) memoryForPlan() int64 { return max(1, i.Takes()) }

// Offer is what the host could promise if nothing of the farm ran there.
func (h *Host) Offer() int64 { return min(h.Machine.total-h.Machine.foreign-h.reserve, h.Memory) }
