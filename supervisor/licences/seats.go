package licences

import (
	"slices"

	"qb/agenda"
)

// How a resource is counted.
const (
	PerInstance = "instance"
	PerHost     = "host"
	PerUserHost = "user-host"
)

// Seat is what one of a resource that is counted per host serves: a host, or with a user that user there.
type Seat struct{ Host, User string }

// Counted is how the resource is counted.
func (p Policy) Counted(name string) string {
	switch {
	case !agenda.PerHost(name):
		return PerInstance
	case slices.Contains(p.PerUser, name):
		return PerUserHost
	}
	return PerHost
}

// SeatOf is the seat that an instance of the user takes on the host.
func (p Policy) SeatOf(name, host, user string) Seat {
	if p.Counted(name) != PerUserHost {
		user = ""
	}
	return Seat{host, user}
}

// Asks is a job that may open seats, with the hosts that serve it.
type Asks struct {
	Names []string // of resources counted per seat, of which each instance needs one
	User  string
	Slots int   // of an instance
	Wants int   // instances that it may have in all
	Hosts []int // that serve it, in order
}

// Room is a host as far as it decides where seats are opened.
type Room struct {
	Name string
	Up   bool
	Free int // slots
	All  int // slots, taken ones included
}

// Give chooses for each job, in the order of the jobs, where it may run: all hosts on which it has its seats already, and as many
// others as it needs and as there are seats left. A host with free slots comes before one whose instances would have to give way.
// held are the seats that are taken, left how many more of each resource there are; own is how many instances a job has on a host.
func Give(p Policy, rooms []Room, jobs []Asks, held map[string]map[Seat]bool, left map[string]int64, own func(job, host int) int) [][]int {
	g := giving{p: p, rooms: rooms, held: held, left: left}
	open, lacks := make([][]int, len(jobs)), make([]int, len(jobs))
	for n, j := range jobs {
		lacks[n] = j.Wants
		for _, h := range j.Hosts {
			if g.seated(j, h) {
				open[n] = append(open[n], h)
				lacks[n] -= own(n, h) + rooms[h].Free/max(1, j.Slots)
			}
		}
	}
	for _, free := range []bool{true, false} {
		for n, j := range jobs {
			for _, h := range g.order(j, free) {
				if lacks[n] <= 0 {
					break
				}
				if slices.Contains(open[n], h) || !g.open(j, h) {
					continue
				}
				open[n] = append(open[n], h)
				if free {
					lacks[n] -= rooms[h].Free / max(1, j.Slots)
				} else {
					lacks[n] -= rooms[h].All / max(1, j.Slots)
				}
			}
		}
	}
	for n := range open {
		slices.Sort(open[n])
	}
	return open
}

type giving struct {
	p     Policy
	rooms []Room
	held  map[string]map[Seat]bool
	left  map[string]int64
}

func (g *giving) has(name, user string, h int) bool {
	return g.held[name][g.p.SeatOf(name, g.rooms[h].Name, user)]
}

// seated says whether the job has all its seats on the host.
func (g *giving) seated(j Asks, h int) bool {
	return !slices.ContainsFunc(j.Names, func(name string) bool { return !g.has(name, j.User, h) })
}

// order is that in which the job's hosts are tried: those with the most room first.
func (g *giving) order(j Asks, free bool) []int {
	room := func(h int) int {
		if free {
			return g.rooms[h].Free
		}
		return g.rooms[h].All
	}
	list := slices.DeleteFunc(slices.Clone(j.Hosts), func(h int) bool { return !g.rooms[h].Up || room(h) < j.Slots })
	slices.SortStableFunc(list, func(a, b int) int { return room(b) - room(a) })
	return list
}

// open takes the seats that the job lacks on the host, or none if there are too few.
func (g *giving) open(j Asks, h int) bool {
	for _, name := range j.Names {
		if !g.has(name, j.User, h) && g.left[name] <= 0 {
			return false
		}
	}
	for _, name := range j.Names {
		if g.has(name, j.User, h) {
			continue
		}
		g.left[name]--
		if g.held[name] == nil {
			g.held[name] = map[Seat]bool{}
		}
		g.held[name][g.p.SeatOf(name, g.rooms[h].Name, j.User)] = true
	}
	return true
}
