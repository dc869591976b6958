package licences

import (
	"cmp"
	"slices"
	"strings"

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

// SeatRequest is a job that may open seats, with the hosts that serve it.
type SeatRequest struct {
	Names []string // of resources counted per seat, of which each instance needs one
	User  string
	Slots int         // of an instance
	Wants int         // instances that it may have in all
	Hosts []int       // that serve it, ascending; nil: all
	Own   map[int]int // instances that it has, by host
	// Room is how many more instances of it the host could take by slots, memory and all else: now, or with yield once
	// others had given way that may. nil: as many as there are slots.
	Room func(h int, yield bool) int
}

// HostCapacity is a host as far as it decides where seats are opened.
type HostCapacity struct {
	Name        string
	Up          bool
	Free        int // slots
	Reclaimable int // slots that are free, or whose instances may have to give way
	All         int // slots, taken ones included
}

// levels are by which room hosts are tried, one after the other: what is free, what may come free if others give way,
// and what there is.
var levels = []func(HostCapacity) int{
	func(r HostCapacity) int { return r.Free },
	func(r HostCapacity) int { return r.Reclaimable },
	func(r HostCapacity) int { return r.All },
}

// room is how many instances of the job the host could take at that level.
func (j SeatRequest) room(r HostCapacity, h, level int) int {
	room := levels[level](r) / max(1, j.Slots)
	if j.Room == nil || level == len(levels)-1 || room == 0 {
		return room
	}
	return min(room, j.Room(h, level > 0))
}

// Assign chooses for each job, in the order of the jobs, where it may run: all hosts on which it has its seats already,
// and as many others as it needs and as there are seats left. A host on which it can start now comes before one where
// others would have to give way, and that before all others. held are the seats that are taken, left how many more of
// each resource there are.
//
// It looks at each job's seats, and at all hosts only for jobs that come while seats of all their resources are left.
// The lists may be shared among jobs.
func Assign(p Policy, rooms []HostCapacity, jobs []SeatRequest, held map[string]map[Seat]bool,
	left map[string]int64) [][]int {
	g := newAssignment(p, rooms, held, left)
	lists, opened, lacks := make([][]int, len(jobs)), make([][]int, len(jobs)), make([]int, len(jobs))
	for n, j := range jobs {
		lists[n], lacks[n] = g.seated(j), j.Wants
		for _, h := range lists[n] {
			lacks[n] -= j.Own[h] + j.room(rooms[h], h, 0)
		}
	}
	for level, slots := range levels {
		g.begin(slots)
		for n, j := range jobs {
			for _, h := range g.candidates(j) {
				if lacks[n] <= 0 || slots(rooms[h]) < j.Slots {
					break
				}
				if _, seated := slices.BinarySearch(lists[n], h); seated || slices.Contains(opened[n], h) || !j.servedBy(h) {
					continue
				}
				if room := j.room(rooms[h], h, level); room > 0 && g.open(j, h) {
					opened[n] = append(opened[n], h)
					lacks[n] -= room
				}
			}
		}
	}
	for n := range lists {
		lists[n] = with(lists[n], opened[n])
	}
	return lists
}

// with is an ascending list with others in their places.
func with(list, others []int) []int {
	if len(others) > 0 {
		list = append(make([]int, 0, len(list)+len(others)), list...)
	}
	for _, h := range others {
		at, _ := slices.BinarySearch(list, h)
		list = slices.Insert(list, at, h)
	}
	return list
}

func (j SeatRequest) servedBy(h int) bool {
	_, serves := slices.BinarySearch(j.Hosts, h)
	return serves || j.Hosts == nil
}

type assignment struct {
	p      Policy
	rooms  []HostCapacity
	held   map[string]map[Seat]bool
	left   map[string]int64
	room   func(HostCapacity) int // by which hosts are tried
	all    []int                  // hosts that are up, those with the most room first
	at     map[string]int         // hosts by name
	seats  map[seatKey][]int      // hosts with seats
	tried  map[seatKey][]int      // the same, as all
	places map[string][]int       // hosts on which jobs have all their seats, ascending
}

// seatKey is a resource and whom a seat of it serves: a user, or "" for all.
type seatKey struct{ name, user string }

func (g *assignment) keyOf(name, user string) seatKey {
	return seatKey{name, g.p.SeatOf(name, "", user).User}
}

func newAssignment(p Policy, rooms []HostCapacity, held map[string]map[Seat]bool, left map[string]int64) *assignment {
	g := &assignment{p: p, rooms: rooms, held: held, left: left, at: make(map[string]int, len(rooms)),
		seats: map[seatKey][]int{}, places: map[string][]int{}}
	for h, r := range rooms {
		g.at[r.Name] = h
	}
	for name, seats := range held {
		for seat := range seats {
			g.note(name, seat)
		}
	}
	return g
}

// begin has hosts tried by their room.
func (g *assignment) begin(room func(HostCapacity) int) {
	g.room = room
	g.all = nil
	g.tried = map[seatKey][]int{}
	for h := range g.rooms {
		g.all = append(g.all, h)
	}
	g.all = g.byRoom(g.all)
}

func (g *assignment) byRoom(hosts []int) []int {
	up := slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return !g.rooms[h].Up })
	slices.SortFunc(up, func(a, b int) int { return cmp.Or(g.room(g.rooms[b])-g.room(g.rooms[a]), a-b) })
	return up
}

func (g *assignment) note(name string, seat Seat) {
	if h, known := g.at[seat.Host]; known {
		at := seatKey{name, seat.User}
		g.seats[at] = append(g.seats[at], h)
		delete(g.tried, at)
	}
}

func (g *assignment) has(name, user string, h int) bool {
	return g.held[name][g.p.SeatOf(name, g.rooms[h].Name, user)]
}

// seated are the hosts on which the job has all its seats before any is opened.
func (g *assignment) seated(j SeatRequest) []int {
	key := strings.Join(j.Names, " ") + "\x00" + j.User
	hosts, known := g.places[key]
	if !known {
		for _, h := range g.seats[g.keyOf(j.Names[0], j.User)] {
			if !slices.ContainsFunc(j.Names[1:], func(name string) bool { return !g.has(name, j.User, h) }) {
				hosts = append(hosts, h)
			}
		}
		slices.Sort(hosts)
		g.places[key] = hosts
	}
	if j.Hosts == nil {
		return hosts
	}
	return slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return !j.servedBy(h) })
}

// candidates are the hosts to try for the job: all, or once none of a resource is left the ones that have a seat of it.
func (g *assignment) candidates(j SeatRequest) []int {
	for _, name := range j.Names {
		if at := g.keyOf(name, j.User); g.left[name] <= 0 {
			hosts, known := g.tried[at]
			if !known {
				hosts = g.byRoom(g.seats[at])
				g.tried[at] = hosts
			}
			return hosts
		}
	}
	return g.all
}

// open takes the seats that the job lacks on the host, or none if there are too few.
func (g *assignment) open(j SeatRequest, h int) bool {
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
		seat := g.p.SeatOf(name, g.rooms[h].Name, j.User)
		g.held[name][seat] = true
		g.note(name, seat)
	}
	return true
}
