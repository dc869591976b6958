package farm

import (
	"fmt"
	"slices"

	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// muster is what a plan lists of a job's instances. It is kept until one of them changes, as from one plan to the
// next few do: a plan of 100,000 instances copies it instead of walking as many maps.
type muster struct {
	held  []*instance // by number, neither stopping nor sent away by a person
	snaps []planner.SnapInstance
}

// hostSums are what a host's instances add up to, kept likewise.
type hostSums struct {
	extra  int   // slots beyond the least of their jobs, which a plan does not see: 1+ and 2-4 take what is free
	ending int   // slots of those on their way out, which the plan looks at as gone
	taken  int64 // bytes promised or resident, of each whichever is more
}

// part is how an instance counts among those of its job.
type part uint8

const (
	partNone part = iota // not there yet, or closed
	partPrimary
	partSecondary
	partDraining // on its way out
	parts
)

func (i *instance) partAnew() part {
	switch {
	case i.job.instances[i.number] != i:
		return partNone
	case i.stopping() || i.draining || i.leaving:
		return partDraining
	case i.kind == facts.Primary:
		return partPrimary
	}
	return partSecondary
}

// touch notes that the instance, or what a plan sees of it, has changed.
func (i *instance) touch() {
	i.job.mustered, i.host.sums = nil, nil
	i.recount()
}

// recount corrects its job's counts by what it has become.
func (i *instance) recount() {
	is := i.partAnew()
	i.job.parts[i.part]--
	i.job.parts[is]++
	i.part = is
}

// touchAll notes that all instances of the job have.
func (j *job) touchAll() {
	j.mustered = nil
	for _, i := range j.instances {
		i.touch()
	}
}

func (j *job) muster() *muster {
	if j.mustered == nil {
		j.mustered = j.musterAnew()
	}
	return j.mustered
}

func (j *job) musterAnew() *muster {
	m := &muster{}
	for _, i := range j.sortedInstances() {
		if i.stopping() || i.leaving {
			continue
		}
		m.held = append(m.held, i)
		m.snaps = append(m.snaps, planner.SnapInstance{ID: i.name(), Kind: i.kind, Started: seconds(i.began),
			ItemStarted: seconds(i.attempt.StartedAt), HasItem: true, Protected: i.protected()})
	}
	return m
}

// summed is what the host's instances add up to.
func (h *host) summed() hostSums {
	if h.sums == nil {
		sums := h.sumAnew()
		h.sums = &sums
	}
	return *h.sums
}

func (h *host) sumAnew() (sums hostSums) {
	for _, i := range h.instances {
		sums.taken += i.takes()
		sums.extra += i.slots - i.job.needs.slots
		if i.stopping() || i.leaving {
			sums.ending += i.job.needs.slots
		}
	}
	return sums
}

func (j *job) countAnew() (counts [3]int) {
	for _, i := range j.instances {
		counts[i.partAnew()-partPrimary]++
	}
	return counts
}

// checkKept compares what is kept with what is.
func (f *Farm) checkKept() error {
	for _, j := range f.sortedJobs() {
		if is := j.musterAnew(); j.mustered != nil && (!slices.Equal(j.mustered.held, is.held) || !slices.Equal(j.mustered.snaps, is.snaps)) {
			return fmt.Errorf("job %d: a plan would see %+v, its instances are %+v", j.ID, j.mustered.snaps, is.snaps)
		}
		if is := j.countAnew(); is != [...]int{j.parts[partPrimary], j.parts[partSecondary], j.parts[partDraining]} {
			return fmt.Errorf("job %d: %v primary, secondary and draining instances are counted, it has %v", j.ID, j.parts[partPrimary:], is)
		}
	}
	for _, h := range f.sortedHosts() {
		if is := h.sumAnew(); h.sums != nil && *h.sums != is {
			return fmt.Errorf("host %s: a plan would see %+v, it is %+v", h.ID, *h.sums, is)
		}
	}
	return nil
}
