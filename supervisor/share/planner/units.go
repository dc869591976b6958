package planner

import (
	"slices"

	"qb/smartshare"
)

// measureUnits says how many instances each host can hold beside the pinned ones, if all instances that may start or
// stop are alike: as wide as each other, and either alike in memory too or small enough that memory never decides; and
// if no other resource may run short, but limits on instances may be reached. A host that is down, or whose memory does
// not suffice for what it holds, keeps that and is closed.
func (b *balance) measureUnits() (u *unitField, ok bool) {
	width, least, most := 0, int64(0), int64(0)
	if b.scarce() && !(b.limitedAlone() && b.limitsByOwner()) {
		return nil, false
	}
	for j := range b.jobs {
		if !b.matters(j) {
			continue
		}
		job := &b.s.Jobs[j]
		if width == 0 {
			width, least, most = job.Slots, job.Memory, job.Memory
		}
		if job.Slots != width {
			return nil, false
		}
		least, most = min(least, job.Memory), max(most, job.Memory)
	}
	width = max(width, 1)
	b.width, b.unitMemory = width, most
	room, over := b.capacities(), b.overNeed(most)
	u = &unitField{capacity: b.ints(len(b.s.Hosts)), movable: room.movable}
	u.Scratch = b.scratch
	b.closed = smartshare.Lend[bool](b.scratch, len(b.s.Hosts))
	for h := range b.s.Hosts {
		units := max(0, room.slots[h]) / width
		b.closed[h] = !b.s.Hosts[h].Up
		if b.s.Hosts[h].Memory >= 0 && most > 0 && int64(units) > (room.memory[h]-over.at(h))/most {
			if least != most || over.unlike {
				return nil, false
			}
			held := min(room.movable[h], units)
			units = int(max(0, room.memory[h]) / most)
			if units < held { // they have grown since they began
				units, b.closed[h] = held, true
			}
		}
		if !b.s.Hosts[h].Up {
			units = room.movable[h]
		}
		u.capacity[h] = units
	}
	u.vacant = b.vacantUnits(u.capacity, room)
	return u, true
}

// vacantUnits says how many of the units of each host are free now.
func (b *balance) vacantUnits(capacity []int, room hostCapacities) []int {
	units := b.ints(len(capacity))
	for h := range units {
		units[h] = room.slots[h] - room.movable[h]*b.width - b.s.Hosts[h].Ending
		room.memory[h] -= room.promised[h] + b.s.Hosts[h].EndingMemory
	}
	for _, i := range b.leaving {
		if p := b.places[i]; b.staysForNow(i) {
			units[p.host] -= b.sizes[p.job].slots
			room.memory[p.host] -= b.promised(i)
		}
	}
	for h := range units {
		units[h] = min(units[h]/b.width, capacity[h]-room.movable[h])
		if b.unitMemory > 0 && b.s.Hosts[h].Memory >= 0 {
			units[h] = min(units[h], int(room.memory[h]/b.unitMemory))
		}
		units[h] = max(0, units[h])
	}
	return units
}

// matters says that a division may start or stop an instance of the job, or that what it keeps in any case
// counts for its user.
func (b *balance) matters(j int) bool {
	job := &b.jobs[j]
	return job.need > 0 || b.owner[j] > 0 && job.pinned > 0 || job.pinned < len(job.secondaries) ||
		job.ceiling > len(job.primaries)+len(job.secondaries)
}

// hostCapacities is what each host has beside its pinned instances, how many others run there, and what those were
// promised.
type hostCapacities struct {
	slots, movable   []int
	memory, promised []int64
}

func (b *balance) capacities() hostCapacities {
	n := len(b.s.Hosts)
	r := hostCapacities{slots: b.ints(n), movable: b.ints(n), memory: smartshare.Lend[int64](b.scratch, n),
		promised: smartshare.Lend[int64](b.scratch, n)}
	for h := range b.s.Hosts {
		r.slots[h], r.memory[h] = b.s.Hosts[h].Slots, b.s.Hosts[h].Memory
	}
	for i, p := range b.places {
		if b.gone[i] {
			continue
		}
		if !b.isPinned(i) {
			r.movable[p.host]++
			r.promised[p.host] += b.promised(i)
			continue
		}
		r.slots[p.host] -= b.sizes[p.job].slots
		r.memory[p.host] -= b.promised(i)
	}
	return r
}

// unitField is a farm of alike instances as the division sees it, and the way back.
type unitField struct {
	smartshare.Field
	capacity []int   // by host
	vacant   []int   // by host: of that, free now
	movable  []int   // by host: instances that may be stopped
	class    []int   // by host; -1: takes no part
	members  [][]int // by class: hosts
	onePool  bool    // one class, open to all
	group    []int   // by job
	tiers    [][]smartshare.Tier
	claim    []int // by job; -1: none
	held     [][][]int

	// what all claims hold, and what it takes to find it
	holdings  []smartshare.Holding
	holders   [][]int                // by holding: instances
	place     []int                  // by class: its holding, of the claim that is looked at
	instances []int                  // room for holders
	worths    []smartshare.KeepValue // room for those of holdings
}

// divideUnits lets smartshare divide alike instances exactly and takes the answer over.
func (b *balance) divideUnits(u *unitField) {
	b.fillUnitField(u)
	b.scratch.Allow(workOfArc * len(u.Open) * len(u.Capacity))
	d := u.Divide()
	surplus, losing := b.ints(len(b.jobs)), []int(nil) // where one class is all: by job how many go, and of whom
	for j := range b.jobs {
		job := &b.jobs[j]
		job.target = job.pinned
		c := u.claim[j]
		if c < 0 {
			continue
		}
		job.grant, job.target = d.Grant[c], d.Target[c]
		kept := job.pinned
		for k, instances := range u.held[c] {
			keep := d.Keep[c][k]
			kept += keep
			if keep < len(instances) && u.onePool {
				surplus[j] = len(instances) - keep
				losing = append(losing, instances...)
				continue
			}
			for _, i := range instances[keep:] {
				b.stopped[i] = true
				b.stops = append(b.stops, i)
			}
		}
		job.moved = job.target - kept
	}
	b.stopFirst(losing, surplus)
	b.placeUnits(u, &d)
}

// stopFirst stops of these instances as many of each job as it has too many, the ones that are to go first.
func (b *balance) stopFirst(instances, surplus []int) {
	b.sortVictims(instances)
	for _, i := range instances {
		if j := b.places[i].job; surplus[j] > 0 {
			surplus[j]--
			b.stopped[i] = true
			b.stops = append(b.stops, i)
		}
	}
}

// fillUnitField makes the classes and claims.
func (b *balance) fillUnitField(u *unitField) {
	jobs := len(b.jobs)
	u.claim, u.held = b.ints(jobs), smartshare.Lend[[][]int](b.scratch, jobs)[:0]
	u.Claims = smartshare.Lend[smartshare.Claim](b.scratch, jobs)[:0]
	b.classifyHosts(u)
	u.holdings, u.holders = smartshare.Lend[smartshare.Holding](b.scratch, jobs)[:0],
		smartshare.Lend[[]int](b.scratch, jobs)[:0]
	if !u.onePool {
		u.place = b.ints(len(u.members))
		u.instances = b.ints(len(b.places))
		u.worths = smartshare.Lend[smartshare.KeepValue](b.scratch, len(b.places))
	}
	for _, j := range b.order {
		u.claim[j] = -1
		if !b.matters(j) {
			continue
		}
		u.claim[j] = len(u.Claims)
		held, instances := b.holdings(j, u)
		u.held = append(u.held, instances)
		job := &b.jobs[j]
		u.Claims = append(u.Claims, smartshare.Claim{Group: u.group[j], Tiers: u.tiers[j], Owner: b.owner[j],
			Need: job.need, Floor: job.pinned, Cap: b.surplusCap(j),
			Weight: b.weight(j), Held: held})
	}
	u.Serve = b.servedClaims(u.claim)
	u.Limits = b.unitLimits(u)
}

// surplusCap is the most secondaries a job may have once its primaries are there.
func (b *balance) surplusCap(j int) int {
	job := &b.jobs[j]
	return max(0, job.ceiling-len(job.primaries)-job.need)
}

// holdings are the secondaries of a job that may be stopped, by class, those most worth keeping first.
// Where there is one class their order is left open until some must go.
func (b *balance) holdings(j int, u *unitField) ([]smartshare.Holding, [][]int) {
	movable := b.movable(j)
	if len(movable) == 0 {
		return nil, nil
	}
	from := len(u.holdings)
	if u.onePool {
		u.holdings, u.holders = append(u.holdings, smartshare.Holding{Count: len(movable)}), append(u.holders, movable)
	} else {
		b.sortVictims(movable)
		slices.Reverse(movable)
		b.holdingsByClass(movable, u)
	}
	to := len(u.holdings)
	return u.holdings[from:to:to], u.holders[from:to:to]
}

// movable lists the secondaries of a job that may be stopped.
func (b *balance) movable(j int) []int {
	if b.jobs[j].pinned == 0 {
		return b.jobs[j].secondaries
	}
	list := make([]int, 0, len(b.jobs[j].secondaries)-b.jobs[j].pinned)
	for _, i := range b.jobs[j].secondaries {
		if !b.isPinned(i) {
			list = append(list, i)
		}
	}
	return list
}

// holdingsByClass adds a list of instances and their worths by class, keeping its order.
func (b *balance) holdingsByClass(movable []int, u *unitField) {
	from := len(u.holdings)
	for _, i := range movable {
		c := u.class[b.places[i].host]
		if at := u.place[c]; at < from || at >= len(u.holdings) || u.holdings[at].Class != c {
			u.place[c] = len(u.holdings)
			u.holdings = append(u.holdings, smartshare.Holding{Class: c})
		}
		u.holdings[u.place[c]].Count++
	}
	for k := from; k < len(u.holdings); k++ {
		n := u.holdings[k].Count
		u.holders = append(u.holders, u.instances[:0:n])
		u.holdings[k].KeepValues, u.instances = u.worths[:0:n], u.instances[n:]
		u.worths = u.worths[n:]
	}
	for n, i := range movable {
		k := u.place[u.class[b.places[i].host]]
		u.holders[k] = append(u.holders[k], i)
		u.holdings[k].KeepValues = append(u.holdings[k].KeepValues,
			smartshare.KeepValue{Work: smartshare.KeepWork(b.running(i), b.passive), Tie: len(movable) - n})
	}
}
