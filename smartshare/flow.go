package smartshare

import "math"

// unbounded is the limit of an arc that has none.
const unbounded = math.MaxInt

// flow routes units from nodes (who asks) to classes (what there is). Units already routed may be routed
// anew, never taken back, so a node that cannot be served once cannot be served later: it is dead, and so
// is everything it reaches.
type flow struct {
	room      []int // by class: units left
	arcs      [][]arc
	into      [][]arcRef // by class: its arcs
	deadNode  []bool
	alive     int // nodes with arcs that are not dead
	deadClass []bool

	// of the search under way
	queue     []int // nodes
	nodeFrom  []int // the arc whose units let a node be reached, plus one; 0: not reached; -1: the root
	classFrom []arcRef
	seenClass []bool
	touched   []int // classes seen
}

// arc leads from a node to a class; wait is what a unit on it costs because it has to wait for an end.
type arc struct {
	class, limit, units int
	wait                int64
}

type arcRef struct{ node, arc int }

func newFlow(room []int, arcs [][]arc) *flow {
	f := &flow{room: append([]int(nil), room...), arcs: arcs, into: make([][]arcRef, len(room)),
		deadNode: make([]bool, len(arcs)), deadClass: make([]bool, len(room)), nodeFrom: make([]int, len(arcs)),
		classFrom: make([]arcRef, len(room)), seenClass: make([]bool, len(room))}
	users := make([]int, len(room))
	f.revive()
	for n := range arcs {
		for a := range arcs[n] {
			users[arcs[n][a].class]++
		}
	}
	for c, n := range users {
		f.into[c] = make([]arcRef, 0, n)
	}
	for n := range arcs {
		for a := range arcs[n] {
			c := arcs[n][a].class
			f.into[c] = append(f.into[c], arcRef{n, a})
		}
	}
	return f
}

// revive forgets which nodes and classes are dead: there is room that there was not.
func (f *flow) revive() {
	clear(f.deadNode)
	clear(f.deadClass)
	f.alive = 0
	for n := range f.arcs {
		f.alive += min(1, len(f.arcs[n]))
	}
}

// push routes up to amount units from a node and says how many it could.
func (f *flow) push(node, amount int) (sent int) {
	for sent < amount && !f.deadNode[node] {
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
	for a := range f.arcs[node] {
		arc := &f.arcs[node][a]
		n := min(amount-sent, f.room[arc.class], arc.limit-arc.units)
		if n > 0 {
			arc.units += n
			f.room[arc.class] -= n
			sent += n
		}
	}
	return sent
}

// pushAround finds a shortest way by which others move over; without one, all that was seen is dead.
func (f *flow) pushAround(root, amount int) (sent int) {
	defer f.forget()
	f.queue = append(f.queue[:0], root)
	f.nodeFrom[root] = -1
	for head := 0; head < len(f.queue); head++ {
		node := f.queue[head]
		for a := range f.arcs[node] {
			arc := &f.arcs[node][a]
			c := arc.class
			if f.seenClass[c] || f.deadClass[c] || arc.units == arc.limit {
				continue
			}
			f.seenClass[c] = true
			f.touched = append(f.touched, c)
			f.classFrom[c] = arcRef{node, a}
			if f.room[c] > 0 {
				return f.augment(c, min(amount, f.room[c]))
			}
			f.reachUsers(c)
		}
	}
	for _, node := range f.queue {
		f.deadNode[node] = true
		f.alive -= min(1, len(f.arcs[node]))
	}
	for _, c := range f.touched {
		f.deadClass[c] = true
	}
	return 0
}

// reachUsers queues the nodes that have units in the class.
func (f *flow) reachUsers(c int) {
	if len(f.queue) == f.alive {
		return
	}
	for _, ref := range f.into[c] {
		if f.nodeFrom[ref.node] == 0 && !f.deadNode[ref.node] && f.arcs[ref.node][ref.arc].units > 0 {
			f.nodeFrom[ref.node] = ref.arc + 1
			f.queue = append(f.queue, ref.node)
		}
	}
}

// augment moves units along the way found to the class and returns how many.
func (f *flow) augment(class, amount int) int {
	f.walk(class, func(in, out *arc) {
		amount = min(amount, in.limit-in.units)
		if out != nil {
			amount = min(amount, out.units)
		}
	})
	f.walk(class, func(in, out *arc) {
		in.units += amount
		if out != nil {
			out.units -= amount
		}
	})
	f.room[class] -= amount
	return amount
}

// walk goes back from a class to the root: at each node units go in by one arc and out of the other.
func (f *flow) walk(class int, visit func(in, out *arc)) {
	for {
		ref := f.classFrom[class]
		in, from := &f.arcs[ref.node][ref.arc], f.nodeFrom[ref.node]
		if from < 0 {
			visit(in, nil)
			return
		}
		out := &f.arcs[ref.node][from-1]
		visit(in, out)
		class = out.class
	}
}

func (f *flow) forget() {
	for _, node := range f.queue {
		f.nodeFrom[node] = 0
	}
	for _, c := range f.touched {
		f.seenClass[c] = false
	}
	f.queue, f.touched = f.queue[:0], f.touched[:0]
}

// flowState is what a flow can go back to.
type flowState struct {
	room                []int
	units               []int
	deadNode, deadClass []bool
	alive               int
}

// save copies the state, into the memory of an older copy.
func (f *flow) save(s *flowState) {
	s.room = append(s.room[:0], f.room...)
	s.alive = f.alive
	s.deadNode = append(s.deadNode[:0], f.deadNode...)
	s.deadClass = append(s.deadClass[:0], f.deadClass...)
	s.units = s.units[:0]
	for n := range f.arcs {
		for a := range f.arcs[n] {
			s.units = append(s.units, f.arcs[n][a].units)
		}
	}
}

func (f *flow) restore(s *flowState) {
	copy(f.room, s.room)
	f.alive = s.alive
	copy(f.deadNode, s.deadNode)
	copy(f.deadClass, s.deadClass)
	i := 0
	for n := range f.arcs {
		for a := range f.arcs[n] {
			f.arcs[n][a].units = s.units[i]
			i++
		}
	}
}
