package farm

import (
	"cmp"
	"slices"
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

// placeUnits gives each start of a division its host: place counts them by group and class.
func (b *balance) placeUnits(u *unitField, place [][]int) {
	queues := b.hostQueues(u)
	b.starts = b.startSequence()
	for i := range b.starts {
		start := &b.starts[i]
		g := u.group[start.Job]
		class := -1
		for _, c := range u.Open[g] {
			if place[g][c] == 0 {
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
		place[g][class]--
		start.Host, start.now = queues[class].take()
	}
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
			if free[h] > 0 {
				q.now = append(q.now, hostUnits{h, free[h]})
			}
			if rest := min(freed[h], freed[h]+free[h]); rest > 0 {
				q.later = append(q.later, hostUnits{h, rest})
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
