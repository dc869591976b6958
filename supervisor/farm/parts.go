package farm

import (
	"fmt"

	"qb/supervisor/facts"
)

// hostSums are what a host's instances add up to. They are kept until one of them changes.
type hostSums struct {
	extra   int   // slots beyond the least of their jobs, which a plan does not see: 1+ and 2-4 take what is free
	ending  int   // slots of those on their way out, which the plan looks at as gone
	taken   int64 // bytes promised or resident, of each whichever is more
	leaving int64 // that part of it which those on their way out have
	planned int64 // bytes of the others, as the plan sees them
}

// part is how an instance counts among those of its job.
type part uint8

const (
	partNone part = iota // not there yet, or closed
	partPrimary
	partSecondary
	partDraining // ends after its item, unless the next plan has it stay
	partLeaving  // stopping, or sent away by a person
	parts
)

func (i *instance) partAnew() part {
	switch {
	case i.job.instances[i.number] != i:
		return partNone
	case i.stopping() || i.leaving:
		return partLeaving
	case i.draining:
		return partDraining
	case i.kind == facts.Primary:
		return partPrimary
	}
	return partSecondary
}

// touch notes that the instance, or what a plan sees of it, has changed.
func (i *instance) touch() {
	i.job.changes++
	i.host.sums = nil
	i.recount()
}

// recount corrects its job's counts by what it has become.
func (i *instance) recount() {
	is := i.partAnew()
	i.job.parts[i.part]--
	i.job.parts[is]++
	i.part = is
}

// touchAll notes that of all instances of the job.
func (j *job) touchAll() {
	for _, i := range j.instances {
		i.touch()
	}
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
		sums.extra += i.slots - i.job.needs.Slots
		if i.stopping() || i.leaving {
			sums.ending += i.job.needs.Slots
			sums.leaving += i.takes()
		} else {
			sums.planned += i.memoryForPlan()
		}
	}
	return sums
}

func (j *job) countAnew() (counts [parts - partPrimary]int) {
	for _, i := range j.instances {
		counts[i.partAnew()-partPrimary]++
	}
	return counts
}

// checkKept compares what is kept with what is.
func (f *Farm) checkKept() error {
	for _, j := range f.jobs.sorted() {
		if is := j.countAnew(); is != [...]int{j.parts[partPrimary], j.parts[partSecondary], j.parts[partDraining], j.parts[partLeaving]} {
			return fmt.Errorf("job %d: %v primary, secondary, draining and leaving instances are counted, it has %v", j.ID, j.parts[partPrimary:], is)
		}
	}
	if err := f.checkRows(); err != nil {
		return err
	}
	for _, h := range f.hosts.sorted() {
		if is := h.sumAnew(); h.sums != nil && *h.sums != is {
			return fmt.Errorf("host %s: a plan would see %+v, it is %+v", h.ID, *h.sums, is)
		}
	}
	return nil
}
