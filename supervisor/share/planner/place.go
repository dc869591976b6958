package planner

import (
	"cmp"
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// hostQueue holds the units of a class that starts can take: those free now, host by host with the
// fullest first, then the ones that come free with a stop.
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
	for i := range b.starts {
		start := &b.starts[i]
		group := u.group[start.Job]
		if c := u.claim[start.Job]; start.Kind == facts.Primary && len(d.Tier[c]) > 0 {
			k := slices.IndexFunc(d.Tier[c], func(n int) bool { return n > 0 })
			d.Tier[c][k]--
			group = u.tiers[start.Job][k].Group
		}
		left, class := d.Starts[start.Kind][group], -1
		for _, c := range u.Open[group] {
			if left[c] == 0 {
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
		left[class]--
		start.Host, start.now = queues[class].take()
	}
	b.delayByLimits()
}

// hostQueues lists the units of each class, the host with the least room first, then by name.
func (b *balance) hostQueues(u *unitField) []hostQueue {
	free := slices.Clone(u.capacity)
	for i, p := range b.places {
		if !b.gone[i] && !b.stopped[i] && !b.isPinned(i) {
			free[p.host]--
		}
	}
	queues := make([]hostQueue, len(u.members))
	for c, hosts := range u.members {
		q := &queues[c]
		for _, h := range hosts {
			now := u.vacant[h]
			if now > 0 {
				q.now = append(q.now, hostUnits{h, now})
			}
			if later := free[h] - now; later > 0 {
				q.later = append(q.later, hostUnits{h, later})
			}
		}
		slices.SortFunc(q.now, b.fullestFirst)
		slices.SortFunc(q.later, b.fullestFirst)
	}
	return queues
}

// staysForNow says that an instance is there until its item has ended or it is stopped.
func (b *balance) staysForNow(i int) bool { return !b.gone[i] || b.s.Running[i].HasItem }

func (b *balance) fullestFirst(x, y hostUnits) int {
	return cmp.Or(cmp.Compare(x.units, y.units), cmp.Compare(b.s.Hosts[x.host].Name, b.s.Hosts[y.host].Name),
		cmp.Compare(x.host, y.host))
}
