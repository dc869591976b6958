package farm

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"qb/supervisor/planner"
)

// placer chooses the hosts of a plan's starts by memory, among those that the plan cannot tell apart: it
// may give a start another host of the same eligibility, but takes no room that the plan has meant for a
// start of another shape.
type placer struct {
	ad    *admission
	now   time.Time
	p     *planned
	alike bool         // all starts take the same slots and memory, so that any may stand for any other
	slots []int        // by host: meant for starts still to come
	bytes []int64      // by host: the same of memory
	class []int        // by host
	lists [][]seatable // by class, of hosts that have said how much memory they have
	peers [][]int      // by class: all hosts
	seats []seatable   // by host: as it stands in its list
	short bool         // a start was refused for want of memory
}

// seatable is a host with what decides between hosts.
type seatable struct {
	host   int
	ledger int64
	free   int
}

// newPlacer is nil where nothing decides beside the plan: no host has said how much memory it has, and no job that
// is to start names a host order.
func newPlacer(ad *admission, now time.Time, p *planned, starts []planner.PlannedStart) *placer {
	choosy := func(s planner.PlannedStart) bool { return len(p.jobs[s.Job].needs.Order) > 0 }
	if len(starts) == 0 || (!slices.ContainsFunc(p.hosts, (*host).limited) && !slices.ContainsFunc(starts, choosy)) {
		return nil
	}
	l := &placer{ad: ad, now: now, p: p, alike: true, slots: make([]int, len(p.hosts)), bytes: make([]int64, len(p.hosts)),
		seats: make([]seatable, len(p.hosts))}
	first := p.Jobs[starts[0].Job]
	for _, s := range starts {
		j := p.Jobs[s.Job]
		l.slots[s.Host] += j.Slots
		l.bytes[s.Host] += j.Memory
		l.alike = l.alike && j.Slots == first.Slots && j.Memory == first.Memory
	}
	l.classify()
	return l
}

// classify puts hosts that the same jobs may use into one list each.
func (l *placer) classify() {
	marks := make([]uint64, len(l.p.hosts))
	for key, list := range l.p.allowed {
		if list == nil {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(key))
		for _, n := range list {
			marks[n] ^= h.Sum64() // the lists come in no order
		}
	}
	number := map[uint64]int{}
	for n, h := range l.p.hosts {
		c, known := number[marks[n]]
		if !known {
			c = len(l.lists)
			number[marks[n]] = c
			l.lists, l.peers = append(l.lists, nil), append(l.peers, nil)
		}
		l.class, l.peers[c] = append(l.class, c), append(l.peers[c], n)
		if h.limited() && h.free() > 0 && h.usable(l.now, *l.ad.policy) {
			l.seats[n] = seatable{n, h.ledger(nil), h.free()}
			l.lists[c] = append(l.lists[c], l.seats[n])
		}
	}
	for _, list := range l.lists {
		slices.SortFunc(list, l.ad.compareSeats)
	}
}

// host is where the start goes: with best_fit the host with the least memory that suffices, and where the
// plan had it if there is no better.
func (l *placer) host(s planner.PlannedStart, meant *host) *host {
	if l == nil {
		return meant
	}
	j, job := l.p.jobs[s.Job], &l.p.Jobs[s.Job]
	l.slots[s.Host] -= job.Slots
	l.bytes[s.Host] -= job.Memory
	if len(j.needs.Order) > 0 {
		return l.preferred(s, meant)
	}
	if !meant.limited() {
		return meant
	}
	list := l.lists[l.class[s.Host]]
	best := l.ad.bestSeat(l.now, j, job.Memory, list, func(c seatable, h *host) bool { return l.permits(s, c) && l.ad.mayUse(l.now, j, h, s.Kind) })
	if best < 0 {
		return meant
	}
	return l.p.hosts[list[best].host]
}

// preferred is the host that the job's host order puts first among those the plan cannot tell apart, the
// planned one if no other is better.
func (l *placer) preferred(s planner.PlannedStart, meant *host) *host {
	j, best := l.p.jobs[s.Job], meant
	before := func(a, b *host) bool { return j.needs.Compare(&a.Host, load{h: a}, &b.Host, load{h: b}) < 0 }
	for _, n := range l.peers[l.class[s.Host]] {
		h := l.p.hosts[n]
		if h == meant || !before(h, best) || !h.usable(l.now, *l.ad.policy) || h.grants(j.needs) == 0 ||
			!l.permits(s, seatable{n, h.ledger(nil), h.free()}) || !h.serves(l.now, j) ||
			!l.ad.mayUse(l.now, j, h, s.Kind) || l.ad.startable(j.needs, h) == 0 || !l.ad.fitsMemory(l.now, j, h, j.needs.Slots) {
			continue
		}
		best = h
	}
	return best
}

// permits says whether the start may go to the host without taking what is meant for another.
func (l *placer) permits(s planner.PlannedStart, c seatable) bool {
	job := &l.p.Jobs[s.Job]
	return l.alike || c.host == s.Host || (c.free-l.slots[c.host] >= job.Slots && c.ledger-l.bytes[c.host] >= job.Memory)
}

// compareSeats orders hosts as the site wants them tried.
func (ad *admission) compareSeats(a, b seatable) int {
	ledger, free := cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.free, b.free)
	switch ad.policy.Memory.Placement {
	case "spread":
		return cmp.Or(-ledger, -free, cmp.Compare(a.host, b.host))
	case "pack":
		return cmp.Or(free, ledger, cmp.Compare(a.host, b.host))
	}
	return cmp.Or(ledger, free, cmp.Compare(a.host, b.host))
}

// bestSeat is the place in the list, ordered by compareSeats, of the host where the job's next instance goes of
// those that may take it: with best_fit that with the least memory that suffices. It is -1 if none can.
func (ad *admission) bestSeat(now time.Time, j *job, need int64, list []seatable, may func(seatable, *host) bool) int {
	from := 0
	if ad.policy.Memory.Placement == "best_fit" {
		from, _ = slices.BinarySearchFunc(list, need, func(c seatable, need int64) int { return cmp.Compare(c.ledger, need) })
	}
	best := -1
	var most int64
	hosts := ad.hosts.sorted()
	for n := from; n < len(list); n++ {
		h := hosts[list[n].host]
		if h.grants(j.needs) == 0 || !may(list[n], h) || !h.serves(now, j) || ad.startable(j.needs, h) == 0 ||
			!ad.fitsMemory(now, j, h, j.needs.Slots) {
			continue
		}
		if j.memoryNeed > 0 || ad.needOn(j, h, j.needs.Slots) >= ad.policy.Memory.Default {
			return n
		}
		if share := h.announce(); best < 0 || share > most {
			best, most = n, share // nothing is known of its need: where it has most
		}
	}
	return best
}

// refuse notes that a start found no memory where it was meant to go.
func (l *placer) refuse() {
	if l != nil {
		l.short = true
	}
}

// started puts the host, and those that share its memory, where they belong now.
func (l *placer) started(h *host) {
	if l == nil || !h.limited() {
		return
	}
	for _, o := range h.machine.hosts {
		n := o.place
		list := l.lists[l.class[n]]
		at, listed := slices.BinarySearchFunc(list, l.seats[n], l.ad.compareSeats)
		if !listed {
			continue
		}
		list = slices.Delete(list, at, at+1)
		if o.free() > 0 {
			l.seats[n] = seatable{n, o.ledger(nil), o.free()}
			to, _ := slices.BinarySearchFunc(list, l.seats[n], l.ad.compareSeats)
			list = slices.Insert(list, to, l.seats[n])
		}
		l.lists[l.class[n]] = list
	}
}

// waitingKept bounds the list of jobs that may take memory as it comes free.
const waitingKept = 256

// noteWaitingForMemory remembers what the plan left of each host's memory and which jobs still wait, and plans again at once
// only if this plan has moved something.
func (f *Farm) noteWaitingForMemory(p *planned, b planner.Plan, l *placer, started bool) {
	f.waitingForMemory = f.waitingForMemory[:0]
	if l != nil && l.short && started {
		f.planStale = true
	}
	open := false
	for n, h := range p.hosts {
		h.unplanned = h.comingMemory()
		open = open || (p.Hosts[n].Up && h.limited() && h.free() > 0)
	}
	for _, n := range b.Order {
		if len(f.waitingForMemory) == waitingKept {
			return
		}
		if j := p.jobs[n]; j.Pending() > 0 && len(j.instances) < b.Jobs[n].Ceiling {
			f.waitingForMemory = append(f.waitingForMemory, j)
			f.planStale = f.planStale || (open && started && j.memoryNeed == 0) // it takes what is left, which the plan took for too little
		}
	}
}

// How soon memory that came free makes a plan due: for a start that fits now, and where others would have to give way
// first. What a host has available moves all the time.
const (
	memoryFitsWait  = time.Second
	memoryFreedWait = 10 * time.Second
)

// planIfMemoryFits makes a plan due if the host that has just reported has more memory to give than the last plan left there, and a
// job waits for which that was too little.
func (f *Farm) planIfMemoryFits(now time.Time, h *host) {
	if !h.limited() || h.comingMemory() <= h.unplanned {
		return
	}
	waits := false
	for _, j := range f.waitingForMemory {
		need := j.memoryForPlan()
		fits := need <= h.ledger(nil) && h.grants(j.needs) > 0
		if need <= h.unplanned || (waits && !fits) || !j.wantsInstances() || !h.serves(now, j) {
			continue
		}
		if fits {
			f.replanSoon(now.Add(memoryFitsWait))
			return
		}
		waits = true
	}
	if waits {
		f.replanSoon(now.Add(memoryFreedWait))
	}
}
