package planner

import (
	"cmp"
	"slices"
	"strings"

	"qb/smartshare"
)

// classifyHosts puts hosts that the same jobs may use into one class, so that the division meets few
// classes however many hosts there are. A host that is closed takes nothing new, a host that holds more than
// its slots is a class alone; one without room for anything takes no part.
func (b *balance) classifyHosts(u *unitField) {
	r := newRefiner(len(b.s.Hosts))
	down := r.Fresh()
	plain := r.Fresh()
	for h := range b.s.Hosts {
		switch {
		case u.capacity[h] <= 0 && u.movable[h] == 0:
		case u.movable[h] > u.capacity[h]:
			r.Put(h, r.Fresh())
		case b.closed[h]:
			r.Put(h, down)
		default:
			r.Put(h, plain)
		}
	}
	lists := b.listGroups(u)
	for _, list := range lists {
		if list != nil {
			r.Split(list)
		}
	}
	u.class = r.Class
	u.gatherClasses(r.Classes, b.hostsByName())
	u.onePool = len(u.members) == 1
	for _, list := range lists {
		open := b.openClasses(u, list)
		u.Open = append(u.Open, open)
		u.onePool = u.onePool && len(open) == 1
	}
}

// listGroups finds each job's group, and its tiers where host clusters rank jobs; it gives the hosts of
// each group.
func (b *balance) listGroups(u *unitField) [][]int {
	var set hostLists
	u.group, u.tiers = b.ints(len(b.jobs)), smartshare.Lend[[]smartshare.Tier](b.scratch, len(b.jobs))
	for _, j := range b.order {
		if !b.matters(j) {
			continue
		}
		u.group[j] = set.add(b.s.Jobs[j].Eligible)
		for _, t := range b.tiersOf(j, u.group[j]) {
			u.tiers[j] = append(u.tiers[j], smartshare.Tier{Rank: t.Rank, Group: set.add(t.Bins)})
		}
	}
	return set.lists
}

// gatherClasses renumbers the classes that have members, by their first host, and lists those.
func (u *unitField) gatherClasses(classes int, hosts []int) {
	number := make([]int, classes)
	for _, h := range hosts {
		c := u.class[h]
		if c < 0 {
			continue
		}
		if number[c] == 0 {
			u.members = append(u.members, nil)
			u.Capacity = append(u.Capacity, 0)
			u.Vacant = append(u.Vacant, 0)
			number[c] = len(u.members)
		}
		u.class[h] = number[c] - 1
		u.members[u.class[h]] = append(u.members[u.class[h]], h)
		u.Capacity[u.class[h]] += u.capacity[h]
		u.Vacant[u.class[h]] += u.vacant[h]
	}
}

// hostsByName lists the hosts in an order that does not depend on their rows.
func (b *balance) hostsByName() []int {
	hosts := b.ints(len(b.s.Hosts))
	for h := range hosts {
		hosts[h] = h
	}
	slices.SortFunc(hosts, func(x, y int) int {
		return cmp.Or(strings.Compare(b.s.Hosts[x].Name, b.s.Hosts[y].Name), cmp.Compare(x, y))
	})
	return hosts
}

// openClasses lists the classes in which a job with this list may start.
func (b *balance) openClasses(u *unitField, list []int) []int {
	var open []int
	seen := make([]bool, len(u.members))
	note := func(h int) {
		if c := u.class[h]; c >= 0 && !seen[c] && !b.closed[h] {
			seen[c] = true
			open = append(open, c)
		}
	}
	if list == nil {
		for _, hosts := range u.members {
			note(hosts[0])
		}
		return open
	}
	for _, h := range list {
		note(h)
	}
	slices.Sort(open)
	return open
}

// hostLists is a set of lists of hosts; nil is all hosts.
type hostLists struct {
	lists  [][]int
	known  map[uint64][]int // by hash: places in lists
	shared map[*int]int     // also, by the first element of a list that was added: jobs of one wish share a list
}

// add gives the place of a list, the same for lists of the same hosts.
func (l *hostLists) add(list []int) int {
	if len(list) == 0 {
		return l.find(list)
	}
	g, known := l.shared[&list[0]]
	if !known || len(l.lists[g]) != len(list) {
		if l.shared == nil {
			l.shared = make(map[*int]int)
		}
		g = l.find(list)
		l.shared[&list[0]] = g
	}
	return g
}

// find looks for a list of the same hosts, and keeps this one if there is none.
func (l *hostLists) find(list []int) int {
	if !slices.IsSorted(list) {
		list = slices.Sorted(slices.Values(list))
	}
	hash := hashList(list)
	for _, g := range l.known[hash] {
		if sameList(l.lists[g], list) {
			return g
		}
	}
	if l.known == nil {
		l.known = make(map[uint64][]int)
	}
	l.lists = append(l.lists, list)
	l.known[hash] = append(l.known[hash], len(l.lists)-1)
	return len(l.lists) - 1
}

func hashList(list []int) uint64 {
	hash := uint64(14695981039346656037)
	if list == nil {
		return hash
	}
	hash ^= uint64(len(list)) + 1
	for _, h := range list {
		hash = (hash ^ uint64(h)) * 1099511628211
	}
	return hash
}

func sameList(a, b []int) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.Equal(a, b)
}

// refiner splits hosts into classes, list by list.
type refiner struct {
	Class   []int // by host; -1: none
	seen    []int // by host: the last list it was in
	size    []int // by class
	marked  []int // by class: members in the present list
	partner []int // by class: where its marked members go; -1: they stay
	members []int // room for split
	lists   int
	Classes int
}

// newRefiner begins with all hosts in no class.
func newRefiner(hosts int) *refiner {
	r := &refiner{Class: make([]int, hosts), seen: make([]int, hosts)}
	for h := range r.Class {
		r.Class[h] = -1
	}
	return r
}

// Fresh makes an empty class.
func (r *refiner) Fresh() int {
	r.size = append(r.size, 0)
	r.marked = append(r.marked, 0)
	r.partner = append(r.partner, -1)
	r.Classes++
	return r.Classes - 1
}

// Put moves a host into a class.
func (r *refiner) Put(h, class int) {
	if c := r.Class[h]; c >= 0 {
		r.size[c]--
	}
	r.Class[h] = class
	r.size[class]++
}

// Split parts each class that has members both in and out of the list.
func (r *refiner) Split(list []int) {
	r.lists++
	members := r.members[:0]
	for _, h := range list {
		if c := r.Class[h]; c >= 0 && r.seen[h] != r.lists {
			r.seen[h] = r.lists
			r.marked[c]++
			members = append(members, h)
		}
	}
	r.members = members
	var touched []int
	for _, h := range members {
		c := r.Class[h]
		if r.marked[c] == 0 {
			continue
		}
		touched = append(touched, c)
		if r.marked[c] < r.size[c] {
			r.partner[c] = r.Fresh()
		}
		r.marked[c] = 0
	}
	for _, h := range members {
		if p := r.partner[r.Class[h]]; p >= 0 {
			r.Put(h, p)
		}
	}
	for _, c := range touched {
		r.partner[c] = -1
	}
}
