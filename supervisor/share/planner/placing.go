package planner

import (
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/fit"
)

// Decide is BalanceIn, and how the farm comes to that division: the host of each start, of all that may run it, by
// memory or by the job's preference, without room that is meant for others; what can start at once; how and when each
// stop is made; which instances give way to primaries of better priority; and which host is kept for a job that finds
// no room.
func Decide(scratch *smartshare.Scratch, s Snapshot) Plan {
	p := BalanceIn(scratch, s)
	unplaced := func(j JobPlan) bool { return j.Unplaced > 0 }
	if len(p.Starts)+len(p.Stop) == 0 && s.Reserved == nil && !slices.ContainsFunc(p.Jobs, unplaced) {
		return p
	}
	r := newLedger(scratch, &s)
	p.place(&s, r)
	p.stops(&s, r)
	p.preempt(&s, r)
	p.reserve(&s, r)
	p.Follows = p.follow(&s, r)
	return p
}

// place goes through the starts in their order, as each changes what the next ones find.
func (p *Plan) place(s *Snapshot, r *ledger) {
	if len(p.Starts) == 0 {
		return
	}
	t := newHostTable(s, p.Starts, r)
	for n := range p.Starts {
		host := t.choose(n)
		start := &p.Starts[n]
		job := &s.Jobs[start.Job]
		p.freeOn[start.Host] += job.Slots // until it takes slots, or waits for them
		start.Host = host
		now := &t.present[host]
		start.Slots = min(job.grant(now.Free, now.Used), max(job.Slots, p.freeOn[host]+t.slots[host]))
		start.When = t.when(job, start.Job, host, start.Kind, start.Slots)
		switch start.When {
		case Now:
			p.freeOn[host] -= start.Slots
			t.start(s, start)
			if now.Limited {
				for _, o := range t.idle[now.Machine].hosts {
					t.changed(o)
				}
			}
		case AfterSlots, AfterStock, AfterMemory:
			p.freeOn[host] -= job.Slots
		}
	}
}

// choose is the host of start n.
func (t *hostTable) choose(n int) int {
	switch start := &t.starts[n]; {
	case t.s.Jobs[start.Job].Order != "":
		return t.byOrder(n)
	case t.s.Policy.Placement != "" && t.present[start.Host].Limited:
		return t.byMemory(n)
	}
	return t.stay(n)
}

// enough is a share beside which no other host is looked at.
const enough = int64(-1)

// try says whether start n can be made on the host now, and if its need is not known what it would be promised there;
// enough where more would not help.
func (t *hostTable) try(n, h int) (fits bool, share int64) {
	start := &t.starts[n]
	job, host := &t.s.Jobs[start.Job], &t.present[h]
	slots := job.grant(host.Free, host.Used)
	if t.items[start.Job] == 0 || !t.s.Serves(start.Job, h) || t.whenWithItems(start, h, slots) != Now {
		return false, 0
	}
	if !job.Unmeasured || !host.Limited || t.needs(job, h, job.Slots) >= t.s.Policy.DefaultMemory {
		return true, enough
	}
	return true, t.announced(h)
}

// whenWithItems is when, except that a job which is barred is not: others may be in its place.
func (t *hostTable) whenWithItems(start *PlannedStart, h, slots int) When {
	when := t.when(&t.s.Jobs[start.Job], start.Job, h, start.Kind, slots)
	if when == AfterItems {
		return Now
	}
	return when
}

// compare orders two hosts, of each of which so many more slots are taken.
func (o HostOrder) compare(granted []int, a, b int) int {
	for _, term := range o {
		x, y := term.value(a, granted[a]), term.value(b, granted[b])
		if c := x.Compare(y, term.More); c != 0 {
			return c
		}
	}
	return 0
}

// value is a host's when so many more slots are taken. No count is less than none.
func (t OrderTerm) value(host, slots int) fit.OrderValue {
	v := t.Values[host]
	if t.PerSlot != 0 {
		v.Number = max(0, v.Number+float64(t.PerSlot*slots))
	}
	return v
}
