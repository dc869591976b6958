package model

import (
	"iter"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// A program of a load-once job is started once for each instance and takes one item after another. When the instance
// closes, its program is still there: it waits for an item of its job, or it is ordered to end. Until its worker
// proves that it has ended, the host keeps it as an instance without a job: what the instance took of the host and of
// the farm stays taken.

// ProgramStatus is the answer to a program that asks for an item when there is none. The statuses are those of
// Qube's requestwork.
type ProgramStatus string

// Two let the program wait, two have it end.
const (
	ProgramWaits    ProgramStatus = "waiting"  // an item of its job may become ready soon
	ProgramBlocked  ProgramStatus = "blocked"  // the same; a person has blocked the items that are left
	ProgramGivesWay ProgramStatus = "pending"  // its job goes on elsewhere or later
	ProgramDone     ProgramStatus = "complete" // its job has no item left
)

// Program is what an instance has become whose program outlives it. The zero value is none.
type Program struct {
	Status ProgramStatus
	Until  time.Time // it waits for an item until then; zero: it is to end
}

// Loaded says that the instance has closed and its program is still there.
func (p *Program) Loaded() bool { return p.Status != "" }

// AwaitsItem says that the program waits for an item.
func (p *Program) AwaitsItem() bool { return !p.Until.IsZero() }

// NextStatus is the answer to the job's programs while the job has no item for them, and whether they may wait for one:
// items are left that wait for others, for a person or for their retry.
func NextStatus(j *Job) (status ProgramStatus, waits bool) {
	switch {
	case j.Over() || j.State.Final():
		return ProgramDone, false
	case j.State != facts.Active || j.Pending() > 0:
		return ProgramGivesWay, false
	case j.Waiting()+j.Paused() > 0:
		return ProgramWaits, true
	case j.Tally.Count(agenda.Blocked) > 0:
		return ProgramBlocked, true
	}
	return ProgramDone, false // the items that are left run
}

// Keep has the host of an instance that has closed keep the instance's program.
func Keep(i *Instance, p Program) {
	h, j := i.Host, i.Job
	if h.programs == nil {
		h.programs = map[instanceKey]*Instance{}
	}
	if j.numbers.programs == nil {
		j.numbers.programs = map[int]*Instance{}
	}
	h.programs[keyOf(i)] = i
	j.numbers.programs[i.Number] = i
	i.Program = p
	h.regrouped = true
	i.Touch()
}

// Unload notes that the program of a closed instance has ended, or is an instance's again.
func Unload(i *Instance) {
	delete(i.Host.programs, keyOf(i))
	delete(i.Job.numbers.programs, i.Number)
	i.Program = Program{}
	i.Host.regrouped = true
	i.Touch()
}

// Idle says that nothing of the farm is on the host.
func (h *hosted) Idle() bool { return len(h.Instances)+len(h.programs) == 0 }

// Programs are the host's programs without an item, in any order.
func (h *hosted) Programs() iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for _, i := range h.programs {
			if !yield(i) {
				return
			}
		}
	}
}

// SortedPrograms are the host's programs without an item, by job and number.
func (h *hosted) SortedPrograms() []*Instance { return sortedInstances(h.programs) }

// Holding are the instances and the programs that take something of the host, in any order.
func (h *hosted) Holding() iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for _, i := range h.Instances {
			if !yield(i) {
				return
			}
		}
		h.Programs()(yield)
	}
}
