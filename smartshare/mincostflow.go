package smartshare

import (
	"cmp"
	"container/heap"
)

// cost compares divisions: first stops, then who has the odd units, then the work lost, then ties, then who waits for
// an end.
type cost struct{ first, work, tie, wait int64 }

// stopCost is above any sum of places in the order that one path can pass.
const stopCost = 1 << 40

func (a cost) plus(b cost) cost {
	return cost{a.first + b.first, a.work + b.work, a.tie + b.tie, a.wait + b.wait}
}

func (a cost) minus(b cost) cost {
	return cost{a.first - b.first, a.work - b.work, a.tie - b.tie, a.wait - b.wait}
}
func (a cost) compare(b cost) int {
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.work, b.work), cmp.Compare(a.tie, b.tie),
		cmp.Compare(a.wait, b.wait))
}

// minCostFlow turns a bottleneck in which each claim has what is best for it alone and no start waits, but some classes
// are overfull and some starts without room, into the cheapest that fits: shortest paths first, each by the cheapest
// change, so that it stays the cheapest for what it serves (min-cost flow with convex costs).
//
// A unit at a group is a start without a class; at a claim an instance that is not yet distinguished from a start; at a
// class a slot in use; at the pool an odd unit without a claim; at the sink it is where it stays.
type minCostFlow struct {
	*bottleneck
	claimAt, classAt, pool, sink int         // where each kind of node begins; groups begin at 0
	users                        [][]userRef // by class: holdings
	members                      [][]int     // by group: claims
	odd                          []int       // claims that may have an odd unit
	potential, dist              []cost
	reached                      []reach
	dead, onPath                 []bool // in this phase
	queue                        nodeQueue
}

type userRef struct{ claim, hold int }

type reach uint8

const (
	unseen reach = iota
	seen
	done
)

// fit makes the bottleneck fit.
func (b *bottleneck) fit() {
	if b.fits() {
		return
	}
	b.takeWaitingBack()
	r := b.newMinCostFlow()
	for !b.fits() {
		if !r.measure() || !r.moveAll() {
			panic("smartshare: a bottleneck that must fit does not")
		}
	}
}

// takeWaitingBack undoes the starts that wait for an end: minCostFlow finds room for them again. Its first potentials
// are right only where no start waits; otherwise some residual arcs have a negative reduced cost, which Dijkstra's
// algorithm does not allow.
func (b *bottleneck) takeWaitingBack() {
	for g := range b.groups {
		for a := range b.flow.arcs[g] {
			if arc := &b.flow.arcs[g][a]; arc.wait > 0 {
				b.more[g] += arc.units
				b.room[arc.to] += arc.units
				arc.units = 0
			}
		}
	}
}

func (b *bottleneck) fits() bool {
	for _, n := range b.more {
		if n > 0 {
			return false
		}
	}
	for _, n := range b.room {
		if n < 0 {
			return false
		}
	}
	return true
}

func (b *bottleneck) newMinCostFlow() *minCostFlow {
	r := &minCostFlow{bottleneck: b, claimAt: len(b.groups)}
	r.classAt = r.claimAt + len(b.claims)
	r.pool = r.classAt + len(b.room)
	r.sink = r.pool + 1
	r.users, r.members = make([][]userRef, len(b.room)), make([][]int, len(b.groups))
	r.potential = make([]cost, r.sink+1)
	r.dist = make([]cost, r.sink+1)
	r.reached = make([]reach, r.sink+1)
	r.dead, r.onPath = make([]bool, r.sink+1), make([]bool, r.sink+1)
	for i := range b.claims {
		c := &b.claims[i]
		r.members[c.group] = append(r.members[c.group], i)
		if c.odd {
			r.odd = append(r.odd, i)
		}
		for k := range c.held {
			r.users[c.held[k].class] = append(r.users[c.held[k].class], userRef{i, k})
		}
	}
	r.price()
	return r
}

// price sets the potentials under which what each claim has is best for it: no residual arc has a negative reduced
// cost, provided that no start waits. The pool lies between the best claim without an odd unit and the worst with one.
func (r *minCostFlow) price() {
	var without, with *cost
	for i := range r.claims {
		r.potential[r.claimAt+i] = r.marginal(i)
	}
	for _, i := range r.odd {
		p := r.potential[r.claimAt+i].minus(cost{first: int64(i)})
		switch {
		case r.claims[i].extra:
			if with == nil || p.compare(*with) < 0 {
				with = &p
			}
		case without == nil || p.compare(*without) > 0:
			without = &p
		}
	}
	if without == nil {
		without = with
	}
	if without != nil {
		r.potential[r.pool] = *without
	}
}

// marginal is what one unit less would cost a claim that has an odd unit, or one more save another.
func (r *minCostFlow) marginal(i int) cost {
	c := &r.claims[i]
	var least, most *cost
	for k := range c.held {
		h := &c.held[k]
		if h.kept > 0 {
			if p := r.stop(i, k, h.kept-1); least == nil || p.compare(*least) < 0 {
				least = &p
			}
		}
		if h.kept < h.count {
			if p := r.stop(i, k, h.kept); most == nil || p.compare(*most) > 0 {
				most = &p
			}
		}
	}
	switch {
	case c.extra && c.want == c.kept && least != nil:
		return *least
	case most != nil:
		return *most
	}
	return cost{}
}

// stop is the cost of stopping the nth of a holding.
func (r *minCostFlow) stop(claim, hold, nth int) cost {
	w := r.worth(&r.claims[claim], hold, nth)
	return cost{first: stopCost, work: w.Work, tie: int64(w.Tie)}
}

// expand shows every node to which a unit at u can move now, at what cost, and how many can at that cost.
func (r *minCostFlow) expand(u int, visit func(v int, c cost, most int) bool) {
	r.f.Scratch.Spend(1)
	switch {
	case u < r.claimAt:
		r.expandGroup(u, visit)
	case u < r.classAt:
		r.expandClaim(u-r.claimAt, visit)
	case u < r.pool:
		r.expandClass(u-r.classAt, visit)
	case u == r.pool:
		for _, i := range r.odd {
			if !r.claims[i].extra && visit(r.claimAt+i, cost{first: int64(i)}, 1) {
				return
			}
		}
	}
}

func (r *minCostFlow) expandGroup(g int, visit func(v int, c cost, most int) bool) {
	r.f.Scratch.Spend(len(r.flow.arcs[g]) + len(r.members[g]))
	for a := range r.flow.arcs[g] {
		if arc := &r.flow.arcs[g][a]; visit(r.classAt+arc.to, cost{wait: arc.wait}, unbounded) {
			return
		}
	}
	for _, i := range r.members[g] {
		if n := r.claims[i].want - r.claims[i].kept; n > 0 && visit(r.claimAt+i, cost{}, n) {
			return
		}
	}
}

func (r *minCostFlow) expandClaim(i int, visit func(v int, c cost, most int) bool) {
	c := &r.claims[i]
	r.f.Scratch.Spend(len(c.held))
	if visit(c.group, cost{}, unbounded) {
		return
	}
	for k := range c.held {
		h := &c.held[k]
		if h.kept < h.count && visit(r.classAt+h.class, cost{}.minus(r.stop(i, k, h.kept)), 1) {
			return
		}
	}
	if c.extra {
		visit(r.pool, cost{first: -int64(i)}, 1)
	}
}

func (r *minCostFlow) expandClass(class int, visit func(v int, c cost, most int) bool) {
	if n := r.room[class]; n > 0 && visit(r.sink, cost{}, n) {
		return
	}
	r.f.Scratch.Spend(len(r.flow.into[class]) + len(r.users[class]))
	for _, ref := range r.flow.into[class] {
		if arc := &r.flow.arcs[ref.node][ref.arc]; arc.units > 0 && visit(ref.node, cost{wait: -arc.wait}, arc.units) {
			return
		}
	}
	for _, u := range r.users[class] {
		if n := r.claims[u.claim].held[u.hold].kept; n > 0 && visit(r.claimAt+u.claim, r.stop(u.claim, u.hold, n-1), 1) {
			return
		}
	}
}

// measure finds how far each node is from those with a unit too many, and makes that the potential; false
// if there is no path to the sink.
func (r *minCostFlow) measure() bool {
	r.f.Scratch.Spend(len(r.reached))
	clear(r.reached)
	r.queue = r.queue[:0]
	for u := range r.sources {
		r.reached[u], r.dist[u] = seen, cost{}
		r.queue = append(r.queue, queued{u, cost{}})
	}
	for len(r.queue) > 0 && r.reached[r.sink] != done {
		w := heap.Pop(&r.queue).(queued)
		if r.reached[w.node] == done {
			continue
		}
		r.reached[w.node] = done
		r.expand(w.node, func(v int, c cost, _ int) bool {
			d := w.dist.plus(r.reduced(w.node, v, c))
			if r.reached[v] == unseen || r.reached[v] == seen && d.compare(r.dist[v]) < 0 {
				r.reached[v], r.dist[v] = seen, d
				heap.Push(&r.queue, queued{v, d})
			}
			return false
		})
	}
	if r.reached[r.sink] != done {
		return false
	}
	far := r.dist[r.sink]
	for v := range r.potential {
		d := far
		if r.reached[v] != unseen && r.dist[v].compare(far) < 0 {
			d = r.dist[v]
		}
		r.potential[v] = r.potential[v].plus(d)
	}
	return true
}

func (r *minCostFlow) reduced(u, v int, c cost) cost {
	return c.plus(r.potential[u]).minus(r.potential[v])
}

// sources yields the nodes with a unit too many.
func (r *minCostFlow) sources(yield func(u int) bool) {
	for g := range r.more {
		if r.more[g] > 0 && !yield(g) {
			return
		}
	}
	for c := range r.room {
		if r.room[c] < 0 && !yield(r.classAt+c) {
			return
		}
	}
}

// moveAll moves units along all paths of no reduced cost; false if it moved none.
func (r *minCostFlow) moveAll() (progress bool) {
	clear(r.dead)
	for u := range r.sources {
		for n := r.excess(u); n > 0; n = r.excess(u) {
			moved := r.move(u, n)
			if moved == 0 {
				break
			}
			progress = true
			if u < r.claimAt {
				r.more[u] -= moved
			} else {
				r.room[u-r.classAt] += moved
			}
		}
	}
	return progress
}

// excess is how many units too many a group or a class has.
func (r *minCostFlow) excess(u int) int {
	if u < r.claimAt {
		return r.more[u]
	}
	return -r.room[u-r.classAt]
}

// move takes as many units as it can, up to an amount, from u to the sink.
func (r *minCostFlow) move(u, amount int) (moved int) {
	if u == r.sink {
		return amount
	}
	r.onPath[u] = true
	r.expand(u, func(v int, c cost, most int) bool {
		if r.dead[v] || r.onPath[v] || r.reduced(u, v, c) != (cost{}) {
			return false
		}
		if n := r.move(v, min(most, amount-moved)); n > 0 {
			r.apply(u, v, n)
			moved += n
		}
		return moved == amount
	})
	r.onPath[u] = false
	r.dead[u] = moved == 0
	return moved
}

// apply changes the bottleneck by units that go from u to v.
func (r *minCostFlow) apply(u, v, units int) {
	group, claim, class := u, u-r.claimAt, u-r.classAt
	switch {
	case v == r.sink:
		r.room[class] -= units
	case u == r.pool:
		r.claims[v-r.claimAt].extra = true
		r.claims[v-r.claimAt].want++
	case v == r.pool:
		r.claims[claim].extra = false
		r.claims[claim].want--
	case u < r.claimAt && v >= r.classAt:
		r.arcTo(group, v-r.classAt).units += units
	case u >= r.classAt && v < r.claimAt:
		r.arcTo(v, class).units -= units
	case u >= r.classAt:
		r.holdIn(v-r.claimAt, class, -units)
	case u >= r.claimAt && v >= r.classAt:
		r.holdIn(claim, v-r.classAt, units)
	}
}

func (r *minCostFlow) arcTo(group, class int) *arc {
	for a := range r.flow.arcs[group] {
		if r.flow.arcs[group][a].to == class {
			return &r.flow.arcs[group][a]
		}
	}
	return nil
}

// holdIn keeps one more or one less in a class.
func (r *minCostFlow) holdIn(claim, class, by int) {
	c := &r.claims[claim]
	c.kept += by
	for k := range c.held {
		if c.held[k].class == class {
			c.held[k].kept += by
		}
	}
}

// nodeQueue is a heap of nodes, the nearest first.
type nodeQueue []queued

type queued struct {
	node int
	dist cost
}

func (q nodeQueue) Len() int           { return len(q) }
func (q nodeQueue) Less(x, y int) bool { return q[x].dist.compare(q[y].dist) < 0 }
func (q nodeQueue) Swap(x, y int)      { q[x], q[y] = q[y], q[x] }
func (q *nodeQueue) Push(x any)        { *q = append(*q, x.(queued)) }
func (q *nodeQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
