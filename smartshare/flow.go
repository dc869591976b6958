package smartshare

import "math"

// unbounded is the limit of an arc that has none.
const unbounded = math.MaxInt

// flow routes units from nodes (who asks) to classes (what there is), over other nodes where a node leads to such.
// Units already routed may be routed again, never taken back, so a node that cannot be served once cannot be served
// later: it is dead, and so is everything it reaches (a maximum flow by shortest augmenting paths).
//
// Classes and nodes are vertices: the classes come first, then the nodes.
type flow struct {
	room  []int // by class: units left
	arcs  [][]arc
	into  [][]arcRef // by vertex: its arcs
	dead  []bool     // by vertex
	alive int        // nodes with arcs that are not dead

	// of the search under way
	queue []int // vertices
	seen  []bool
	from  []step // by vertex
	nodes int    // of the queue

	scratch *Scratch // counts the steps
}

// arc leads from a node to a vertex; wait is what a unit on it costs because it has to wait for an end.
type arc struct {
	to, limit, units int
	wait             int64
}

type arcRef struct{ node, arc int }

// step is how a search reaches a vertex: along an arc, or back along an arc that has units.
type step struct {
	arcRef
	back bool
}

func newFlow(scratch *Scratch, room []int, arcs [][]arc) *flow {
	f := &flow{room: append([]int(nil), room...), arcs: arcs, scratch: scratch}
	n := len(room) + len(arcs)
	f.into = make([][]arcRef, n)
	f.dead = make([]bool, n)
	f.seen = make([]bool, n)
	f.from = make([]step, n)
	users := make([]int, n)
	for node := range arcs {
		for a := range arcs[node] {
			users[arcs[node][a].to]++
		}
	}
	for v, n := range users {
		f.into[v] = make([]arcRef, 0, n)
	}
	for node := range arcs {
		f.enter(node)
	}
	f.revive()
	return f
}

// enter lists the arcs of a node where they lead to.
func (f *flow) enter(node int) {
	for a := range f.arcs[node] {
		to := f.arcs[node][a].to
		f.into[to] = append(f.into[to], arcRef{node, a})
	}
}

// addNode adds a node and gives its number. Its arcs have no units yet.
func (f *flow) addNode(arcs []arc) (node int) {
	node = len(f.arcs)
	f.arcs, f.into = append(f.arcs, arcs), append(f.into, nil)
	f.dead = append(f.dead, false)
	f.seen = append(f.seen, false)
	f.from = append(f.from, step{})
	f.enter(node)
	f.alive += min(1, len(arcs))
	return node
}

// vertex is the vertex of a node.
func (f *flow) vertex(node int) int { return len(f.room) + node }

func (f *flow) deadNode(node int) bool { return f.dead[f.vertex(node)] }

// revive forgets what is dead: there is room that there was not.
func (f *flow) revive() {
	clear(f.dead)
	f.alive = 0
	for n := range f.arcs {
		f.alive += min(1, len(f.arcs[n]))
	}
}

// push routes up to amount units from a node and says how many it could.
func (f *flow) push(node, amount int) (sent int) {
	for sent < amount && !f.deadNode(node) {
		n := f.pushDirect(node, amount-sent)
		if n == 0 {
			n = f.pushAround(node, amount-sent)
		}
		sent += n
	}
	return sent
}

// pushDirect fills the classes that the node itself may use.
func (f *flow) pushDirect(node, amount int) (sent int) {
	f.scratch.Spend(len(f.arcs[node]) + 1)
	for a := range f.arcs[node] {
		arc := &f.arcs[node][a]
		if arc.to >= len(f.room) {
			continue
		}
		n := min(amount-sent, f.room[arc.to], arc.limit-arc.units)
		if n > 0 {
			arc.units += n
			f.room[arc.to] -= n
			sent += n
		}
	}
	return sent
}

// pushAround finds a shortest path by which others move over; without one, all that was seen is dead.
func (f *flow) pushAround(root, amount int) (sent int) {
	defer f.forget()
	f.reach(f.vertex(root), step{})
	for head := 0; head < len(f.queue); head++ {
		v := f.queue[head]
		f.scratch.Spend(len(f.into[v]) + 1)
		if node := v - len(f.room); node >= 0 {
			f.scratch.Spend(len(f.arcs[node]))
			for a := range f.arcs[node] {
				arc := &f.arcs[node][a]
				if to := arc.to; !f.seen[to] && !f.dead[to] && arc.units < arc.limit {
					f.reach(to, step{arcRef{node, a}, false})
					if to < len(f.room) && f.room[to] > 0 {
						return f.augment(root, to, min(amount, f.room[to]))
					}
				}
			}
		}
		f.reachUsers(v)
	}
	for _, v := range f.queue {
		f.dead[v] = true
		if node := v - len(f.room); node >= 0 {
			f.alive -= min(1, len(f.arcs[node]))
		}
	}
	return 0
}

func (f *flow) reach(v int, s step) {
	f.seen[v], f.from[v] = true, s
	f.queue = append(f.queue, v)
	if v >= len(f.room) {
		f.nodes++
	}
}

// reachUsers queues the nodes that have units in the vertex.
func (f *flow) reachUsers(v int) {
	if f.nodes == f.alive {
		return
	}
	for _, ref := range f.into[v] {
		if u := f.vertex(ref.node); !f.seen[u] && !f.dead[u] && f.arcs[ref.node][ref.arc].units > 0 {
			f.reach(u, step{ref, true})
		}
	}
}

// augment moves units along the path found from the root to the class and returns how many.
func (f *flow) augment(root, class, amount int) int {
	f.walk(root, class, func(arc *arc, back bool) {
		if back {
			amount = min(amount, arc.units)
		} else {
			amount = min(amount, arc.limit-arc.units)
		}
	})
	f.walk(root, class, func(arc *arc, back bool) {
		if back {
			arc.units -= amount
		} else {
			arc.units += amount
		}
	})
	f.room[class] -= amount
	return amount
}

// walk goes back from a vertex to the root.
func (f *flow) walk(root, v int, visit func(arc *arc, back bool)) {
	for v != f.vertex(root) {
		s := f.from[v]
		arc := &f.arcs[s.node][s.arc]
		visit(arc, s.back)
		if v = f.vertex(s.node); s.back {
			v = arc.to
		}
	}
}

func (f *flow) forget() {
	for _, v := range f.queue {
		f.seen[v] = false
	}
	f.queue, f.nodes = f.queue[:0], 0
}

// flowState is what a flow can go back to.
type flowState struct {
	room  []int
	units []int
	dead  []bool
	alive int
}

// save copies the state, into the memory of an older copy.
func (f *flow) save(s *flowState) {
	f.scratch.Spend(len(f.into))
	s.room = append(s.room[:0], f.room...)
	s.dead = append(s.dead[:0], f.dead...)
	s.alive = f.alive
	s.units = s.units[:0]
	for n := range f.arcs {
		for a := range f.arcs[n] {
			s.units = append(s.units, f.arcs[n][a].units)
		}
	}
}

func (f *flow) restore(s *flowState) {
	copy(f.room, s.room)
	copy(f.dead, s.dead)
	f.alive = s.alive
	i := 0
	for n := range f.arcs {
		for a := range f.arcs[n] {
			f.arcs[n][a].units = s.units[i]
			i++
		}
	}
}
