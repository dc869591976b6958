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
	f     *Farm
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
func (f *Farm) newPlacer(now time.Time, p *planned, starts []planner.PlannedStart) *placer {
	choosy := func(s planner.PlannedStart) bool { return len(p.jobs[s.Job].needs.Order) > 0 }
	if len(starts) == 0 || (!slices.ContainsFunc(p.hosts, (*host).limited) && !slices.ContainsFunc(starts, choosy)) {
		return nil
	}
	l := &placer{f: f, now: now, p: p, alike: true, slots: make([]int, len(p.hosts)), bytes: make([]int64, len(p.hosts)),
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
		if h.limited() && h.free() > 0 && h.usable(l.now, l.f.policy) {
			l.seats[n] = seatable{n, h.ledger(nil), h.free()}
			l.lists[c] = append(l.lists[c], l.seats[n])
		}
	}
	for _, list := range l.lists {
		slices.SortFunc(list, l.f.compareSeats)
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
	best := l.f.bestSeat(l.now, j, job.Memory, list, func(c seatable, h *host) bool { return l.permits(s, c) && l.f.mayUse(l.now, j, h, s.Kind) })
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
		if h == meant || !before(h, best) || !h.usable(l.now, l.f.policy) || h.grants(j.needs) == 0 ||
			!l.permits(s, seatable{n, h.ledger(nil), h.free()}) || !h.serves(l.now, j) ||
			!l.f.mayUse(l.now, j, h, s.Kind) || l.f.startable(j.needs, h) == 0 || !l.f.fitsMemory(l.now, j, h, j.needs.Slots) {
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
func (f *Farm) compareSeats(a, b seatable) int {
	ledger, free := cmp.Compare(a.ledger, b.ledger), cmp.Compare(a.free, b.free)
	switch f.policy.Memory.Placement {
	case "spread":
		return cmp.Or(-ledger, -free, cmp.Compare(a.host, b.host))
	case "pack":
		return cmp.Or(free, ledger, cmp.Compare(a.host, b.host))
	}
	return cmp.Or(ledger, free, cmp.Compare(a.host, b.host))
}

// bestSeat is the place in the list, ordered by compareSeats, of the host where the job's next instance goes of
// those that may take it: with best_fit that with the least memory that suffices. It is -1 if none can.
func (f *Farm) bestSeat(now time.Time, j *job, need int64, list []seatable, may func(seatable, *host) bool) int {
	from := 0
	if f.policy.Memory.Placement == "best_fit" {
		from, _ = slices.BinarySearchFunc(list, need, func(c seatable, need int64) int { return cmp.Compare(c.ledger, need) })
	}
	best := -1
	var most int64
	hosts := f.sortedHosts()
	for n := from; n < len(list); n++ {
		h := hosts[list[n].host]
		if h.grants(j.needs) == 0 || !may(list[n], h) || !h.serves(now, j) || f.startable(j.needs, h) == 0 ||
			!f.fitsMemory(now, j, h, j.needs.Slots) {
			continue
		}
		if j.memoryNeed > 0 || f.needOn(j, h, j.needs.Slots) >= f.policy.Memory.Default {
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
		at, listed := slices.BinarySearchFunc(list, l.seats[n], l.f.compareSeats)
		if !listed {
			continue
		}
		list = slices.Delete(list, at, at+1)
		if o.free() > 0 {
			l.seats[n] = seatable{n, o.ledger(nil), o.free()}
			to, _ := slices.BinarySearchFunc(list, l.seats[n], l.f.compareSeats)
			list = slices.Insert(list, to, l.seats[n])
		}
		l.lists[l.class[n]] = list
	}
}

// Bounds of the search for jobs that wait for memory.
const (
	hungryKept   = 64
	hungrySought = 1000
)

// noteHungry remembers which jobs wait for memory beside free slots, and plans again at once only if this
// plan has moved something.
func (f *Farm) noteHungry(now time.Time, p *planned, b planner.Plan, l *placer, started bool) {
	f.hungry = f.hungry[:0]
	if l != nil && l.short && started {
		f.dirty = true
	}
	var open []*host
	for n, h := range p.hosts {
		if p.Hosts[n].Up && h.limited() && h.free() > 0 {
			open = append(open, h)
		}
	}
	if len(open) == 0 {
		return
	}
	for at, n := range b.Order {
		j, jp := p.jobs[n], b.Jobs[n]
		if at == hungrySought || len(f.hungry) == hungryKept {
			return
		}
		switch {
		case j.Pending() == 0 || len(j.instances) >= jp.Ceiling:
		case f.thirsty(now, j, open) || f.outgrown(now, j, open):
			f.hungry = append(f.hungry, j)
		case started && j.memoryNeed == 0:
			f.dirty = true // it takes what is left, which the plan took for too little: what was free before it was more
		}
	}
}

// feed plans soon if the host that has just spoken could take a job that waits for memory. Once a second
// is enough: what it has available moves all the time.
func (f *Farm) feed(now time.Time, h *host) {
	if !h.limited() || h.free() <= 0 {
		return
	}
	for _, j := range f.hungry {
		if j.wantsInstances() && f.opens(now, j, h) && f.fitsMemory(now, j, h, j.needs.Slots) {
			f.replanSoon(now.Add(feedWait))
			return
		}
	}
}

const feedWait = time.Second

// opens says whether an instance of the job could start on the host now, but for its memory.
func (f *Farm) opens(now time.Time, j *job, h *host) bool {
	return h.grants(j.needs) > 0 && h.usable(now, f.policy) && h.serves(now, j) && f.mayUse(now, j, h, j.nextKind()) &&
		f.startable(j.needs, h) != 0
}

// outgrown says whether one of the hosts would serve the job, had what its items need not grown beyond all
// that the host has: it may be less again once the item that needs so much has ended.
func (f *Farm) outgrown(now time.Time, j *job, hosts []*host) bool {
	if j.memoryNeed <= max(j.needs.Memory, f.leastMemory) {
		return false
	}
	modest := *j
	modest.memoryNeed = 0
	return slices.ContainsFunc(hosts, func(h *host) bool {
		return h.Memory > 0 && h.Memory < j.memoryNeed && h.serves(now, &modest)
	})
}

// thirsty says whether the job does not start beside free slots for want of memory alone.
func (f *Farm) thirsty(now time.Time, j *job, hosts []*host) bool {
	waits := false
	for _, h := range hosts {
		if !f.opens(now, j, h) {
			continue
		}
		if f.fitsMemory(now, j, h, j.needs.Slots) {
			return false
		}
		waits = true
	}
	return waits
}
