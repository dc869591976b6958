package farm

import (
	"cmp"
	"slices"

	"qb/smartshare"
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
	queues := b.hostQueues(u)
	b.starts = b.startSequence()
	for i := range b.starts {
		start := &b.starts[i]
		start.group = u.group[start.Job]
		if c := u.claim[start.Job]; start.Kind == Primary && len(d.Tier[c]) > 0 {
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
	if !slices.ContainsFunc(b.starts, func(s balanceStart) bool { return s.Kind == Primary && !s.now }) {
		return
	}
	opens := make([][]bool, len(u.Open)) // by group and class
	ready := make([][][]int, len(u.members))
	for g := range opens {
		opens[g] = make([]bool, len(u.members))
		for _, c := range u.Open[g] {
			opens[g][c] = true
		}
	}
	for c := range ready {
		ready[c] = make([][]int, len(u.Open)) // by class and group: secondaries that start now
	}
	for i := range b.starts {
		if s := &b.starts[i]; s.now && s.Kind == Secondary {
			list := &ready[u.class[s.Host]][s.group]
			*list = append(*list, i)
		}
	}
	for i := range b.starts {
		p := &b.starts[i]
		if p.Kind != Primary {
			return
		}
		if p.now {
			continue
		}
		if list := findReady(u, opens, ready, p); list != nil {
			last := len(*list) - 1
			s := &b.starts[(*list)[last]]
			*list = (*list)[:last]
			p.Host, s.Host = s.Host, p.Host
			p.now, s.now = true, false
		}
	}
}

// findReady finds secondaries that start now where the primary may, and may start where it would wait.
func findReady(u *unitField, opens [][]bool, ready [][][]int, p *balanceStart) *[]int {
	for _, c := range u.Open[p.group] {
		for g := range ready[c] {
			if len(ready[c][g]) > 0 && opens[g][u.class[p.Host]] {
				return &ready[c][g]
			}
		}
	}
	return nil
}

// hostQueues lists the units of each class, the host with the least room first, then by name.
func (b *balance) hostQueues(u *unitField) []hostQueue {
	free := slices.Clone(u.capacity)
	freed := make([]int, len(free))
	for i := range b.s.Running {
		switch h := b.s.Running[i].Host; {
		case b.gone[i] || b.isPinned(i):
		case b.stopped[i]:
			freed[h]++
			free[h]--
		default:
			free[h]--
		}
	}
	queues := make([]hostQueue, len(u.members))
	for c, hosts := range u.members {
		q := &queues[c]
		for _, h := range hosts {
			later := min((b.s.Hosts[h].Ending+b.width-1)/b.width, max(free[h], 0))
			if now := free[h] - later; now > 0 {
				q.now = append(q.now, hostUnits{h, now})
			}
			if later += min(freed[h], freed[h]+free[h]); later > 0 {
				q.later = append(q.later, hostUnits{h, later})
			}
		}
		slices.SortFunc(q.now, b.fullestFirst)
		slices.SortFunc(q.later, b.fullestFirst)
	}
	return queues
}

func (b *balance) fullestFirst(x, y hostUnits) int {
	return cmp.Or(cmp.Compare(x.units, y.units), cmp.Compare(b.s.Hosts[x.host].Name, b.s.Hosts[y.host].Name),
		cmp.Compare(x.host, y.host))
}
