package farm

import (
	"cmp"
	"fmt"

	"qb/supervisor/job/facts"
)

// Check walks all cross-references and returns the first that is broken. Tests and the simulator call it
// after every event; Rebuild calls it once. O(items of unfinished jobs + instances).
func (f *Farm) Check() error {
	for _, j := range f.jobs.Sorted() {
		if err := j.Check(); err != nil {
			return fmt.Errorf("job %d: %w", j.ID, err)
		}
	}
	keys := map[string]facts.HostID{}
	for _, h := range f.hosts.Sorted() {
		if o, there := keys[h.Key]; there && h.Key != "" {
			return fmt.Errorf("hosts %s and %s have one key", o, h.ID)
		}
		keys[h.Key] = h.ID
		used, wanted := 0, 0
		for _, i := range h.SortedInstances() {
			used += i.Taken()
			if i.Resuming() {
				wanted += i.Slots
			}
			if i.LeaseEnds.Before(h.NoneLapses) {
				return fmt.Errorf("host %s: the lease of instance %s ends before it is looked at", h.ID, i.Name())
			}
			if i.Job.Instances[i.Number] != i || i.Loaded() || f.jobs.ByID[i.Job.ID] != i.Job {
				return fmt.Errorf("host %s: instance %s is not its job's", h.ID, i.Name())
			}
		}
		for _, i := range h.SortedPrograms() {
			used += i.Taken()
			switch {
			case i.LeaseEnds.Before(h.NoneLapses):
				return fmt.Errorf("host %s: the lease of program %s ends before it is looked at", h.ID, i.Name())
			case !i.Loaded() || i.Host != h || i.Attached() || i.Attempt.State.Live():
				return fmt.Errorf("host %s: instance %s has become no program", h.ID, i.Name())
			case i.AwaitsItem() && !f.programs.awaits(i):
				return fmt.Errorf("host %s: program %s waits and will not be given an item", h.ID, i.Name())
			}
		}
		if is := h.SumAnew(); h.Sums != nil && *h.Sums != is {
			return fmt.Errorf("host %s: a plan would see %+v, it is %+v", h.ID, *h.Sums, is)
		}
		if used != h.Used || wanted != h.Wanted {
			return fmt.Errorf("host %s: %d slots are counted as used and %d as wanted, its instances hold %d and want %d", h.ID,
				h.Used, h.Wanted, used, wanted)
		}
	}
	for _, j := range f.orders {
		if f.jobs.ByID[j.ID] != j || len(j.Orders) == 0 {
			return fmt.Errorf("job %d is taken for one with orders under way", j.ID)
		}
	}
	return cmp.Or(f.hosts.Check(), f.jobs.CheckOwners(), f.jobs.CheckGates(), f.jobs.CheckBounds(), f.planning.checkRows(),
		f.shown.check(f))
}
