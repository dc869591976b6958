package sim

import "time"

// simNetwork carries messages between named ends. It loses, doubles, delays and reorders them, and has
// cuts, each in one direction only.
type simNetwork struct {
	world *simWorld
	cuts  map[simWay]int // cuts may overlap

	drop, double, late int            // in 1000, of each message
	slow               map[string]int // ends that each message takes a second longer to reach
}

type simWay struct{ from, to string }

func newSimNetwork(w *simWorld) *simNetwork {
	return &simNetwork{world: w, cuts: map[simWay]int{}, slow: map[string]int{}}
}

// send delivers once, not at all, or more often, each time when it likes.
func (n *simNetwork) send(from, to string, deliver func()) {
	w := n.world
	if n.cuts[simWay{from, to}] > 0 || w.chance(n.drop) {
		w.note("net: %s to %s is lost", from, to)
		return
	}
	delay := n.delay()
	if n.slow[to] > 0 {
		delay += time.Second
	}
	w.after(delay, func() {
		if n.cuts[simWay{from, to}] == 0 {
			deliver()
		}
	})
	if w.chance(n.double) {
		w.note("net: %s to %s is doubled", from, to)
		w.after(w.between(0, 15*time.Second), deliver)
	}
}

func (n *simNetwork) delay() time.Duration {
	if n.world.chance(n.late) {
		return n.world.between(0, 25*time.Second)
	}
	return n.world.mostly(4*time.Millisecond, 300*time.Millisecond, 20)
}

// cut stops a direction for a while.
func (n *simNetwork) cut(from, to string, lasts time.Duration) {
	way := simWay{from, to}
	n.cuts[way]++
	n.world.after(lasts, func() { n.heal(way) })
}

func (n *simNetwork) heal(way simWay) {
	if n.cuts[way] > 0 {
		n.cuts[way]--
	}
}

// healAll ends every fault of the network; cuts that end later find nothing to end.
func (n *simNetwork) healAll() {
	clear(n.cuts)
	clear(n.slow)
	n.drop, n.double, n.late = 0, 0, 0
}
