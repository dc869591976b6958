package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// PlanInstances adds those of the job's instances that a plan sees, by number: neither stopping nor sent away by a
// person.
func (j *Job) PlanInstances(held []*Instance, rows []planner.SnapInstance) ([]*Instance, []planner.SnapInstance) {
	for _, i := range j.sortedInstances() {
		if i.Ending() {
			continue
		}
		held = append(held, i)
		rows = append(rows, planner.SnapInstance{ID: i.Name(), Job: -1, Host: i.Host.Place, Kind: i.Kind,
			Started:     Seconds(i.Began),
			ItemStarted: Seconds(i.Attempt.StartedAt), HasItem: true, Protected: i.Stays(), Memory: i.memoryForPlan(),
			Slots: int32(i.Slots), Number: int32(i.Number), Spared: i.Suspended() ||
				i.Job.Kept(), Suspended: i.Suspended(), Released: i.Released(), Expires: i.expires(),
			Stood: i.Attempt.SuspendedUntil(i.Attempt.StartedAt).Seconds(), Holds: i.holdsForPlan()})
	}
	return held, rows
}

// holdsForPlan is what the instance has of resources and limits, nil if that is what its job takes.
func (i *Instance) holdsForPlan() map[string]int64 {
	if maps.Equal(i.Attempt.Holds, i.Job.Needs.Holds) {
		return nil
	}
	if holds := i.Claims(); holds != nil {
		return holds
	}
	return map[string]int64{}
}

// UnseenOf is what instances on the host hold of a resource beyond what a plan sees there.
func (h *Host) UnseenOf(name string) (sum int64) {
	for _, i := range h.Instances {
		if !i.Ending() {
			sum += i.Attempt.Holds[name] - i.Job.Needs.Takes[name]
		}
	}
	return sum
}

// Staying is what instances that are not on their way out hold of a resource.
func (h *Host) Staying(name string) (sum int64) {
	for _, i := range h.Instances {
		if !i.Ending() {
			sum += i.Attempt.Holds[name]
		}
	}
	return sum
}

func Seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// TimeOf is the moment of such seconds, to the next millisecond.
func TimeOf(seconds float64) time.Time { return time.UnixMilli(int64(math.Ceil(seconds * 1000))).UTC() }

// hostSums are what a host's instances add up to. They are kept until one of them changes.
type hostSums struct {
	Extra        int   // slots beyond the least of their jobs, which a plan does not see: 1+ and 2-4 take what is free
	EndingSlots  int   // slots of those on their way out, which the plan looks at as gone
	Released     int   // slots that those have given back which a plan sees: it counts them as the rest
	taken        int64 // bytes promised or resident, of each whichever is more
	endingTaken  int   // slots of the host that they take
	endingMemory int64 // that part of it which those on their way out have
	planned      int64 // bytes of the others, as the plan sees them
	resident     int64 // bytes that their items have
}

// role is how an instance counts among those of its job.
type role uint8

const (
	roleNone role = iota // not there yet, or closed
	RolePrimary
	RoleSecondary
	RoleDraining // ends after its item, unless the next plan has it stay
	RoleEnding   // stopping, or sent away by a person
	roles
)

func (i *Instance) partAnew() role {
	switch {
	case i.Job.Instances[i.Number] != i:
		return roleNone
	case i.Ending():
		return RoleEnding
	case i.Draining:
		return RoleDraining
	case i.Kind == facts.Primary:
		return RolePrimary
	}
	return RoleSecondary
}

// Touch notes that the instance, or what a plan sees of it, has changed.
func (i *Instance) Touch() {
	if i.Behind() {
		i = i.Holder
	}
	i.Job.Changes++
	i.Host.Sums = nil
	i.Recount()
}

// Recount corrects its job's counts by what it has become.
func (i *Instance) Recount() {
	is := i.partAnew()
	i.Job.Parts[i.part]--
	i.Job.Parts[is]++
	i.recountBounds(i.part, is)
	i.part = is
	i.recountSlots(is != roleNone || i.Loaded())
	i.Host.noteInstance(i)
	i.Host.Noted()
	i.Job.Noted()
}

// recountSlots corrects what is taken of its host, and what is wanted there to go on.
func (i *Instance) recountSlots(there bool) {
	taken, wanted := 0, 0
	switch {
	case !there:
	case i.Resuming():
		wanted = i.Slots
	default:
		taken = i.Taken()
	}
	i.Host.Used += taken - i.taken
	i.Host.Wanted += wanted - i.wanted
	i.Job.resuming += wanted - i.wanted
	i.taken, i.wanted = taken, wanted
}

// TouchAll notes that of all instances of the job.
func (j *Job) TouchAll() {
	for _, i := range j.Instances {
		i.Touch()
	}
}

// Summed is what the host's instances add up to.
func (h *Host) Summed() hostSums {
	if h.Sums == nil {
		sums := h.SumAnew()
		h.Sums = &sums
	}
	return *h.Sums
}

func (h *Host) SumAnew() (sums hostSums) {
	for i := range h.Holding() {
		sums.taken += i.Takes()
		sums.resident += i.Memory
		if !i.Released() {
			sums.Extra += i.Slots - i.Job.Needs.Slots
		}
		switch {
		case !i.Ending():
			sums.planned += i.memoryForPlan()
			if i.Released() {
				sums.Released += i.Job.Needs.Slots
			}
		default:
			sums.endingMemory += i.Takes()
			sums.endingTaken += i.Taken()
			if !i.Released() {
				sums.EndingSlots += i.Job.Needs.Slots
			}
		}
	}
	return sums
}

func (j *Job) countAnew() (counts [roles - RolePrimary]int) {
	for _, i := range j.Instances {
		counts[i.partAnew()-RolePrimary]++
	}
	return counts
}

// AddResources tells a plan what there is of the resources that its jobs take. Like slots, what instances on
// their way out hold counts as there; what they are to have who hold other amounts than their job now takes
// counts as that.
func AddResources(p *planner.Snapshot, hosts []*Host, all map[string]int64, held func(name string) int64) {
	var names []string
	for n := range p.Jobs {
		for name := range p.Jobs[n].Takes {
			if _, limit := p.Limits[name]; !limit && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return
	}
	p.Resources = map[string]int64{}
	for _, name := range names {
		if !strings.HasPrefix(name, "host.") {
			p.Resources[name] = all[name]
			p.Left[name] = all[name] - held(name)
			p.Coming[name] = held(name)
			for _, h := range hosts {
				p.Coming[name] -= h.Staying(name)
			}
		}
	}
	for n, h := range hosts {
		p.Hosts[n].Resources, p.Present[n].Left = map[string]int64{}, map[string]int64{}
		for _, name := range names {
			unseen := h.UnseenOf(name)
			if strings.HasPrefix(name, "host.") {
				p.Present[n].Left[name] = h.Left(name)
				if ending := h.Held(name) - h.Staying(name); ending != 0 {
					if p.Present[n].Coming == nil {
						p.Present[n].Coming = map[string]int64{}
					}
					p.Present[n].Coming[name] = ending
				}
			}
			switch {
			case !strings.HasPrefix(name, "host."):
				p.Resources[name] -= unseen
			case h.Stock(name) > 0:
				p.Hosts[n].Resources[name] = max(0, h.Stock(name)-unseen)
			}
		}
	}
	for name, left := range p.Resources {
		p.Resources[name] = max(0, left)
	}
}
