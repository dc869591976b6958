package planner

import (
	"cmp"
	"slices"

	"qb/smartshare"
	"qb/supervisor/facts"
)

// hostQueue holds the units of a class that starts can take: those free now, host by host with the
// fullest first, then those that come free with a stop.
type hostQueue struct {
	now, later []hostUnits
}

type hostUnits struct{ host, units int }

// take gives the next unit.
func (q *hostQueue) take() (host int, now bool) {
	list := &q.later
	if len(q.now) > 0 {
		list, now = &q.now, true
	}
	u := &(*list)[0]
	host = u.host
	if u.units--; u.units == 0 {
		*list = (*list)[1:]
	}
	return host, now
}

// placeUnits gives each start of a division its host.
func (b *balance) placeUnits(u *unitField, d *smartshare.Division) {
	b.starts = b.startSequence()
	if len(b.starts) == 0 {
		return
	}
	queues := b.hostQueues(u)
	u.hasten(queues, d.Place)
	for i := range b.starts {
		start := &b.starts[i]
		start.group = u.group[start.Job]
		if c := u.claim[start.Job]; start.Kind == facts.Primary && len(d.Tier[c]) > 0 {
			k := slices.IndexFunc(d.Tier[c], func(n int) bool { return n > 0 })
			d.Tier[c][k]--
			start.group = u.tiers[start.Job][k].Group
		}
		place, class := d.Place[start.group], -1
		for _, c := range u.Open[start.group] {
			if place[c] == 0 {
				continue
			}
			if class < 0 {
				class = c
			}
			if len(queues[c].now) > 0 {
				class = c
				break
			}
		}
		place[class]--
		start.Host, start.now = queues[class].take()
	}
	b.primariesNow(u)
}

// primariesNow lets each primary that would have to wait for a stop change places with a secondary that
// would not, where each may use the other's host.
func (b *balance) primariesNow(u *unitField) {
	waits := slices.ContainsFunc(b.starts, func(s balanceStart) bool { return s.Kind == facts.Primary && !s.now })
	if !waits || !slices.ContainsFunc(b.starts, func(s balanceStart) bool { return s.Kind == facts.Secondary && s.now }) {
		return
	}
	r := newReadyStarts(b, u)
	for i := range b.starts {
		p := &b.starts[i]
		if p.Kind != facts.Primary {
			return
		}
		if p.now {
			continue
		}
		if other, found := r.take(u, p); found {
			s := &b.starts[other]
			p.Host, s.Host = s.Host, p.Host
			p.now, s.now = true, false
		}
	}
}

// readyStarts are the secondaries that start now.
type readyStarts struct {
	opens [][]bool      // by group and class
	lists [][]readyList // by class
}

// readyList are those of one group; they are at hand last first.
type readyList struct {
	group  int
	starts []int
}

func newReadyStarts(b *balance, u *unitField) *readyStarts {
	r := &readyStarts{opens: make([][]bool, len(u.Open)), lists: make([][]readyList, len(u.members))}
	for g := range r.opens {
		r.opens[g] = make([]bool, len(u.members))
		for _, c := range u.Open[g] {
			r.opens[g][c] = true
		}
	}
	for i := range b.starts {
		s := &b.starts[i]
		if !s.now || s.Kind != facts.Secondary {
			continue
		}
		c := u.class[s.Host]
		at, known := slices.BinarySearchFunc(r.lists[c], s.group, func(l readyList, group int) int { return l.group - group })
		if !known {
			r.lists[c] = slices.Insert(r.lists[c], at, readyList{group: s.group})
		}
		r.lists[c][at].starts = append(r.lists[c][at].starts, i)
	}
	return r
}

// take finds one that starts where the primary may, and may start where it would wait.
func (r *readyStarts) take(u *unitField, p *balanceStart) (start int, found bool) {
	waits := u.class[p.Host]
	for _, c := range u.Open[p.group] {
		for k := range r.lists[c] {
			l := &r.lists[c][k]
			if !r.opens[l.group][waits] {
				continue
			}
			last := len(l.starts) - 1
			start = l.starts[last]
			if l.starts = l.starts[:last]; last == 0 {
				r.lists[c] = slices.Delete(r.lists[c], k, k+1)
			}
			return start, true
		}
	}
	return 0, false
}

// hostQueues lists the units of each class, the host with the least room first, then by name.
func (b *balance) hostQueues(u *unitField) []hostQueue {
	free := slices.Clone(u.capacity)
	for i, p := range b.places {
		if !b.gone[i] && !b.stopped[i] && !b.isPinned(i) {
			free[p.host]--
		}
	}
	waits, vacant, memory := b.somethingEnds(), []int(nil), []int64(nil)
	if waits {
		vacant, memory = b.vacancy()
	}
	queues := make([]hostQueue, len(u.members))
	for c, hosts := range u.members {
		q := &queues[c]
		for _, h := range hosts {
			now := free[h]
			if waits {
				now = min(now, max(0, vacant[h])/b.width)
			}
			if waits && b.unitMemory > 0 && b.s.Hosts[h].Memory >= 0 {
				now = min(now, int(max(0, memory[h])/b.unitMemory))
			}
			if now > 0 {
				q.now = append(q.now, hostUnits{h, now})
			}
			if later := free[h] - max(now, 0); later > 0 {
				q.later = append(q.later, hostUnits{h, later})
			}
		}
		slices.SortFunc(q.now, b.fullestFirst)
		slices.SortFunc(q.later, b.fullestFirst)
	}
	return queues
}

// somethingEnds says that not all that the division may use is free now.
func (b *balance) somethingEnds() bool {
	return len(b.stops)+len(b.leaving) > 0 || slices.ContainsFunc(b.s.Hosts, func(h SnapHost) bool { return h.Ending > 0 })
}

// staysForNow says that an instance is there until its item has ended or it is stopped.
func (b *balance) staysForNow(i int) bool { return !b.gone[i] || b.s.Running[i].HasItem }

func (b *balance) fullestFirst(x, y hostUnits) int {
	return cmp.Or(cmp.Compare(x.units, y.units), cmp.Compare(b.s.Hosts[x.host].Name, b.s.Hosts[y.host].Name),
		cmp.Compare(x.host, y.host))
}
