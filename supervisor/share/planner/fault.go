package planner

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"qb/smartshare"
)

// Fault is the panic of a balance that is given a row which no farm can have: a value that validation excludes. Nothing
// was divided by then.
type Fault struct {
	Job  int // index into Jobs; -1: it is not a job's
	What string
}

func (f *Fault) Error() string { return f.What }

// The bounds of a snapshot's values, wide enough for whatever the API accepts.
const (
	maxSlots  = smartshare.MaxCount // of a host, or of an instance
	maxWidth  = 1 << 24             // primaries of a job
	maxAmount = 1 << 62             // of memory in bytes, or of a resource
)

// check panics with a Fault if a value of a host or job is out of its bounds; listInstances looks at those of
// instances.
func (s *Snapshot) check() {
	for h := range s.Hosts {
		if what := s.Hosts[h].fault(); what != "" {
			panic(&Fault{-1, fmt.Sprintf("host %s: %s", s.Hosts[h].Name, what)})
		}
	}
	for j := range s.Jobs {
		if what := s.Jobs[j].fault(len(s.Hosts)); what != "" {
			panic(&Fault{j, what})
		}
	}
}

// Clamp brings a host's values within their bounds, so that a wrong value costs that host its slots and not the
// farm its plans.
func (h *SnapHost) Clamp() {
	h.Slots = min(max(0, h.Slots), maxSlots)
	h.Ending = min(max(0, h.Ending), h.Slots)
	h.Memory, h.EndingMemory = min(h.Memory, maxAmount), min(max(0, h.EndingMemory), maxAmount)
}

func (h *SnapHost) fault() string {
	switch {
	case h.Slots < 0 || h.Slots > maxSlots:
		return outside("slots", h.Slots)
	case h.Ending < 0:
		return outside("ending", h.Ending)
	case h.EndingMemory < 0:
		return outside("ending memory", h.EndingMemory)
	}
	return amountsFault(h.Resources)
}

func (j *SnapJob) fault(hosts int) string {
	switch {
	case j.CPUs < 0 || j.CPUs > maxWidth:
		return outside("cpus", j.CPUs)
	case j.Slots < 0 || j.Slots > maxSlots:
		return outside("slots", j.Slots)
	case j.Memory < 0 || j.Memory > maxAmount:
		return outside("memory", j.Memory)
	case strange(j.Weight) || j.Weight < 0:
		return outside("weight", j.Weight)
	case strange(j.Fairshare):
		return outside("fairshare factor", j.Fairshare)
	case strange(j.VTime):
		return outside("virtual time", j.VTime)
	case strange(j.Points):
		return outside("points", j.Points)
	}
	for _, h := range j.Eligible {
		if h < 0 || h >= hosts {
			return outside("eligible host", h)
		}
	}
	return amountsFault(j.Takes)
}

// instanceFault is the fault of an instance that has one.
func (s *Snapshot) instanceFault(r *SnapInstance) *Fault {
	f := &Fault{Job: r.Job, What: fmt.Sprintf("instance %s: job %d, host %d, kind %d, memory %d: one is out of bounds",
		r.ID, r.Job, r.Host, r.Kind, r.Memory)}
	if uint(r.Job) >= uint(len(s.Jobs)) {
		f.Job = -1
	}
	return f
}

// amountsFault names the first amount out of bounds, by name.
func amountsFault(amounts map[string]int64) string {
	if len(amounts) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if amount := amounts[name]; amount < 0 || amount > maxAmount {
			return outside(name, amount)
		}
	}
	return ""
}

// strange is true of what is no number, and of the infinite ones.
func strange(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

func outside(what string, value any) string {
	return fmt.Sprintf("%s %v is out of bounds", what, value)
}

// The bound of a balance, in steps. It grows with the farm, so that no farm is too large for it.
const (
	workLeast   = 20_000_000
	workOfEach  = 100   // for each job, instance, host and slot
	workOfArc   = 2_000 // for each class of hosts that a list of hosts may hold, where shapes do not differ
	workOfPlace = 8     // for each look at a host for each instance that may have to be placed, where shapes differ

	slotsCounted = 1 << 20 // of a host: a wrong number buys no work without end
)

// slots is the number of slots of all hosts.
func (s *Snapshot) slots() (total int) {
	for h := range s.Hosts {
		total += min(max(0, s.Hosts[h].Slots), slotsCounted)
	}
	return total
}

// work is how many steps a balance of the snapshot may take, except for what the division of alike instances and
// packing add.
func (s *Snapshot) work() int {
	return workLeast + workOfEach*(len(s.Jobs)+len(s.Hosts)+len(s.Running)+s.slots())
}

// packingWork is how many steps more packing may take: it looks at each host for each instance.
func (b *balance) packingWork() int {
	wanted, most := len(b.s.Running), b.s.slots()
	for j := range b.jobs {
		wanted += min(max(0, b.jobs[j].ceiling), most)
	}
	return workOfPlace * len(b.s.Hosts) * min(wanted, most)
}
