package smartshare

import "slices"

// leveller finds the fair levels of a field. It raises the water as far as all claims can follow; there
// some set of claims fills all classes open to it. That set is a bottleneck: its slots are its own in every
// fair division, so it is settled by itself and taken out, and the others rise on.
type leveller struct {
	field  *Field
	d      *Division
	fill   *filler
	flow   *flow
	total  []int // by class: units that bottlenecks have not taken
	need   []int // by node: primaries granted
	node   []int // by claim: its group, or a node of its own if it may keep where it may not start
	count  []int // by claim: secondaries routed, floor included
	alive  []int // claims not in a bottleneck yet
	start  flowState
	bounds *bounds
	first  []int // count at start

	goneNode, goneClass []bool // taken by a bottleneck
}

func newLeveller(f *Field, d *Division) *leveller {
	n := len(f.Claims)
	ints := func() []int { return Lend[int](f.Scratch, n) }
	l := &leveller{field: f, d: d, total: append([]int(nil), f.Capacity...), node: ints(), count: ints(), alive: ints(),
		first: ints()}
	floors, caps, weights := ints(), ints(), Lend[float64](f.Scratch, n)
	arcs := make([][]arc, len(f.Open))
	for g, classes := range f.Open {
		arcs[g] = make([]arc, 0, len(classes))
		for _, c := range classes {
			arcs[g] = append(arcs[g], arc{to: c, limit: unbounded})
		}
	}
	for i := range f.Claims {
		c := &f.Claims[i]
		floors[i] = c.Floor
		caps[i] = max(c.Cap, c.Floor)
		weights[i] = c.Weight
		l.alive[i] = i
		l.count[i] = c.Floor
		l.node[i] = c.Group
		d.Tier[i] = Lend[int](f.Scratch, len(c.Tiers))
		if own := f.ownArcs(c); own != nil {
			l.node[i] = len(arcs)
			arcs = append(arcs, own)
		}
	}
	l.fill = newFiller(floors, caps, weights)
	l.bounds = newBounds(f)
	l.flow = newFlow(f.Scratch, f.Capacity, arcs)
	l.need = make([]int, len(arcs))
	l.goneNode, l.goneClass = make([]bool, len(arcs)), make([]bool, len(f.Capacity))
	return l
}

// ownArcs are the arcs of a claim that holds something in a class that is not open to it; else nil.
func (f *Field) ownArcs(c *Claim) []arc {
	var own []arc
	for _, h := range c.Held {
		if !f.opens(c.Group, h.Class) {
			own = append(own, arc{to: h.Class, limit: h.Count})
		}
	}
	if own == nil {
		return nil
	}
	for _, class := range f.Open[c.Group] {
		own = append(own, arc{to: class, limit: unbounded})
	}
	return own
}

// grantPrimaries serves rank after rank, in each one claim after another. Who does not get all its
// primaries gets no surplus.
func (l *leveller) grantPrimaries() {
	serve := l.field.Serve
	if serve == nil {
		serve = l.alive
	}
	for _, rank := range l.field.ranks() {
		for _, i := range serve {
			l.grantTier(i, rank)
		}
	}
	for i := range l.field.Claims {
		if c := &l.field.Claims[i]; l.d.Grant[i] < c.Need {
			l.fill.cap[i] = c.Floor
		}
	}
}

// grantTier grants a claim what it still needs where it has the rank.
func (l *leveller) grantTier(i, rank int) {
	c := &l.field.Claims[i]
	give := func(group int) int {
		n := l.flow.push(group, l.bounds.most(i, c.Need-l.d.Grant[i]))
		l.bounds.draw(i, n)
		l.d.Grant[i] += n
		l.need[group] += n
		return n
	}
	if c.Tiers == nil && rank == 0 {
		give(c.Group)
	}
	for k, t := range c.Tiers {
		if t.Rank == rank {
			l.d.Tier[i][k] = give(t.Group)
		}
	}
}

// ranks lists the ranks that there are, best first; who has no tiers has rank 0.
func (f *Field) ranks() []int {
	ranks := []int{0}
	for i := range f.Claims {
		for _, t := range f.Claims[i].Tiers {
			if at, known := slices.BinarySearch(ranks, t.Rank); !known {
				ranks = slices.Insert(ranks, at, t.Rank)
			}
		}
	}
	return ranks
}

// nextBottleneck settles the next bottleneck; false when all is settled.
func (l *leveller) nextBottleneck() bool {
	if len(l.alive) == 0 {
		return false
	}
	level := l.common()
	for {
		next, ok := l.fill.above(l.alive, level)
		if !ok {
			l.finalise(level, level, true)
			return false
		}
		if !l.raise(next) {
			l.finalise(level, next, false)
			return true
		}
		level = next
	}
}

// common raises all that are alive to the highest level that all can reach, short of single steps.
func (l *leveller) common() level {
	l.flow.save(&l.start)
	copy(l.first, l.count)
	level := l.fill.highest(l.alive, l.bound(l.alive, l.present))
	for !l.raise(level) {
		dead := l.deadClaims()
		lower := l.fill.highest(dead, l.bound(dead, l.dying))
		l.flow.restore(&l.start)
		copy(l.count, l.first)
		level = lower
	}
	return level
}

// present and dying say which nodes and classes a bound is about: all that no bottleneck has taken, or of
// those the dead.
func (l *leveller) present(node, class int) bool {
	if node >= 0 {
		return !l.goneNode[node]
	}
	return !l.goneClass[class]
}

func (l *leveller) dying(node, class int) bool {
	if node >= 0 {
		return !l.goneNode[node] && l.flow.deadNode(node)
	}
	return !l.goneClass[class] && l.flow.dead[class]
}

// bound is how many secondaries, floors included, the claims can have at most if they, with the primaries
// granted at these nodes, have these classes and what they may keep elsewhere.
func (l *leveller) bound(claims []int, in func(node, class int) bool) int {
	slots := 0
	for c := range l.total {
		if in(-1, c) {
			slots += l.total[c]
		}
	}
	for _, i := range claims {
		slots += l.field.Claims[i].Floor
	}
	for n := range l.need {
		if !in(n, -1) {
			continue
		}
		slots -= l.need[n]
		for a := range l.flow.arcs[n] {
			if arc := &l.flow.arcs[n][a]; arc.limit != unbounded && !l.goneClass[arc.to] && !in(-1, arc.to) {
				slots += arc.limit
			}
		}
	}
	return slots
}

// deadClaims are the claims alive that cannot rise.
func (l *leveller) deadClaims() []int {
	var dead []int
	for _, i := range l.alive {
		if l.flow.deadNode(l.node[i]) {
			dead = append(dead, i)
		}
	}
	return dead
}

// raise routes what is missing up to the level; false if some could not follow.
func (l *leveller) raise(to level) bool {
	l.field.Scratch.Spend(len(l.alive) + 1)
	all := true
	for _, i := range l.alive {
		if n := l.fill.at(i, to) - l.count[i]; n > 0 {
			sent := l.flow.push(l.node[i], n)
			l.count[i] += sent
			all = all && sent == n
		}
	}
	return all
}

// finalise solves the bottleneck of all dead claims, or of all that are left, whose odd units stand between two
// levels, and takes it out.
func (l *leveller) finalise(base, next level, last bool) {
	in := l.dying
	if last {
		in = l.present
	}
	b := newBottleneck(l, in)
	taken := 0
	for _, i := range l.alive {
		if in(l.node[i], -1) {
			taken++
		}
	}
	still, claims := l.alive[:0], Lend[int](l.field.Scratch, taken)[:0]
	for _, i := range l.alive {
		if in(l.node[i], -1) {
			claims = append(claims, i)
		} else {
			still = append(still, i)
		}
	}
	odd := l.bound(claims, in)
	b.claims = Lend[bottleneckClaim](l.field.Scratch, len(claims))[:0]
	for _, i := range claims {
		n := l.fill.at(i, base)
		odd -= n
		b.add(i, n, n < l.fill.cap[i] && l.fill.next(i, n).compare(next) == 0)
	}
	l.alive = still
	l.remove(in)
	if last {
		odd = 0
	}
	b.solve(odd)
}

// remove takes the nodes and classes of a bottleneck out, with what its claims keep in classes that stay.
func (l *leveller) remove(in func(node, class int) bool) {
	var nodes, classes []int
	for n := range l.need {
		if in(n, -1) {
			nodes = append(nodes, n)
		}
	}
	for c := range l.total {
		if in(-1, c) {
			classes = append(classes, c)
		}
	}
	for _, n := range nodes {
		l.goneNode[n] = true
	}
	for _, c := range classes {
		l.goneClass[c] = true
	}
	for _, n := range nodes {
		for a := range l.flow.arcs[n] {
			if arc := &l.flow.arcs[n][a]; arc.limit != unbounded && !l.goneClass[arc.to] {
				l.total[arc.to] -= arc.limit
			}
		}
	}
}
