package smartshare

// ownerNet routes secondaries from owners over their claims and the nodes of a flow to classes. What is
// routed may be routed anew, also over another claim of the same owner, but an owner's total is never
// taken back. An owner that is dissolved has no total any more: his claims are routed by themselves.
//
//	source ─▶ owner ─▶ claim ─▶ node ─▶ class ─▶ sink
//	   └────────────────▲ (dissolved)   ▲ primaries
type ownerNet struct {
	arcs  [][]int // by vertex: its edges, those that lead here too
	to    []int   // by edge; the way back of edge e is e^1
	left  []int   // by edge: how much more may go
	depth []int
	next  []int

	claims, nodes, classes int // the first of each; owners come first
	source, sink           int
	entry                  []int // by owner, then claim: the edge from the source
	claimNode              []int // by claim: its node's vertex
}

// newOwnerNet takes over the classes and what the primaries take of them.
func newOwnerNet(l *leveller, of []int, owners int) *ownerNet {
	n := &ownerNet{claims: owners}
	n.nodes = n.claims + len(of)
	n.classes = n.nodes + len(l.flow.arcs)
	n.source = n.classes + len(l.flow.room)
	n.sink = n.source + 1
	n.arcs = make([][]int, n.sink+1)
	n.depth, n.next = make([]int, len(n.arcs)), make([]int, len(n.arcs))
	for v := range n.nodes {
		n.entry = append(n.entry, n.join(n.source, v, 0, 0))
	}
	for i, o := range of {
		c := l.fill.cap[i] - l.fill.floor[i]
		n.join(o, n.claims+i, c, 0)
		n.join(n.claims+i, n.nodes+l.node[i], c, 0)
		n.claimNode = append(n.claimNode, n.nodes+l.node[i])
	}
	used := make([]int, len(l.flow.room))
	for v := range l.flow.arcs {
		for _, a := range l.flow.arcs[v] {
			limit := min(a.limit, MaxCount)
			n.join(n.nodes+v, n.classes+a.class, limit-a.units, a.units)
			used[a.class] += a.units
		}
	}
	for c, room := range l.flow.room {
		n.join(n.classes+c, n.sink, room, used[c])
	}
	return n
}

// join makes an edge along which so much may still go, and so much may come back.
func (n *ownerNet) join(from, to, more, back int) (edge int) {
	edge = len(n.to)
	n.to, n.left = append(n.to, to, from), append(n.left, more, back)
	n.arcs[from], n.arcs[to] = append(n.arcs[from], edge), append(n.arcs[to], edge+1)
	return edge
}

func (n *ownerNet) ofOwner(o int) int { return n.entry[o] }
func (n *ownerNet) ofClaim(i int) int { return n.entry[n.claims+i] }

func (n *ownerNet) save() []int         { return append([]int(nil), n.left...) }
func (n *ownerNet) restore(state []int) { copy(n.left, state) }

// pushAll routes so much more from each member; false if not all of it went, which leaves the net
// anywhere.
func (n *ownerNet) pushAll(entry func(member int) int, amounts []int) bool {
	missing := 0
	for m, amount := range amounts {
		if amount > 0 {
			n.left[entry(m)] += amount
			missing += amount
		}
	}
	for missing > 0 && n.measure() {
		clear(n.next)
		missing -= n.send(n.source, missing)
	}
	return missing == 0
}

// pushOne routes one more through an entry if it can.
func (n *ownerNet) pushOne(entry int) bool {
	n.left[entry]++
	if n.measure() {
		clear(n.next)
		return n.send(n.source, 1) == 1
	}
	n.left[entry]--
	return false
}

// measure finds how far each vertex is from the source; false if the sink is out of reach. (Dinic's way:
// all shortest ways are used up before they are measured again.)
func (n *ownerNet) measure() bool {
	for v := range n.depth {
		n.depth[v] = -1
	}
	n.depth[n.source] = 0
	queue := make([]int, 1, len(n.depth))
	queue[0] = n.source
	for head := 0; head < len(queue); head++ {
		v := queue[head]
		for _, e := range n.arcs[v] {
			if w := n.to[e]; n.left[e] > 0 && n.depth[w] < 0 {
				n.depth[w] = n.depth[v] + 1
				queue = append(queue, w)
			}
		}
	}
	return n.depth[n.sink] >= 0
}

// send routes as much as it can along shortest ways. A way is at most as long as the net has vertices.
func (n *ownerNet) send(v, amount int) (sent int) {
	if v == n.sink {
		return amount
	}
	for ; n.next[v] < len(n.arcs[v]); n.next[v]++ {
		e := n.arcs[v][n.next[v]]
		if w := n.to[e]; n.left[e] > 0 && n.depth[w] == n.depth[v]+1 {
			got := n.send(w, min(amount-sent, n.left[e]))
			n.left[e] -= got
			n.left[e^1] += got
			if sent += got; sent == amount {
				return sent
			}
		}
	}
	return sent
}

// dissolve takes back what an owner's claims have and lets them stand for themselves.
func (n *ownerNet) dissolve(o int, claims []int) {
	for _, i := range claims {
		v := n.claims + i
		for _, e := range n.arcs[v] {
			if n.to[e] == o { // the way back to the owner
				n.takeBack(n.claimNode[i], n.left[e])
				n.left[e], n.left[e^1] = 0, 0
			}
		}
		for _, e := range n.arcs[v] {
			if n.to[e] == n.claimNode[i] {
				n.left[e], n.left[e^1] = n.left[e]+n.left[e^1], 0
			}
		}
	}
	n.left[n.entry[o]], n.left[n.entry[o]^1] = 0, 0
}

// takeBack takes units of a node out of its classes: they are all alike.
func (n *ownerNet) takeBack(node, units int) {
	for _, e := range n.arcs[node] {
		w := n.to[e]
		if w < n.classes || w >= n.source || units == 0 {
			continue
		}
		some := min(units, n.left[e^1])
		units -= some
		n.left[e] += some
		n.left[e^1] -= some
		for _, out := range n.arcs[w] {
			if n.to[out] == n.sink {
				n.left[out] += some
				n.left[out^1] -= some
			}
		}
	}
}
