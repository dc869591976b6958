package smartshare

// ways are the shortest ways of an Ongoing division from class to class, by stops: another claim's unit moves over to
// make room, or to take a vacant slot.
type ways struct {
	seen  []bool
	hop   []hop  // by class seen
	queue []int  // classes in the order of their distance
	dist  []int  // by class seen: stops
	asked []bool // by group: its claims were looked at
	fresh []Put  // groups, in place of claims, that were at this distance, and the class by which
}

// hop is how a class was reached: a unit of the claim, held or promised, moves between the two. The claim is
// below zero where the way begins.
type hop struct {
	claim, from int
	kind        Kind
	held        bool
}

func (w *ways) grow(classes int) {
	w.seen, w.hop, w.dist = make([]bool, classes), make([]hop, classes), make([]int, classes)
}

func (w *ways) begin(groups int) {
	for _, c := range w.queue {
		w.seen[c] = false
	}
	w.queue, w.fresh = w.queue[:0], w.fresh[:0]
	if len(w.asked) < groups {
		w.asked = make([]bool, groups)
	}
	clear(w.asked)
}

func (w *ways) reach(class, dist int, by hop) {
	if !w.seen[class] {
		w.seen[class], w.dist[class], w.hop[class] = true, dist, by
		w.queue = append(w.queue, class)
	}
}

// find is the end of a way.
type find struct {
	ok           bool
	claim, class int
	level, stops int
	held         bool // the unit that gives way there
}

// Fill gives a vacant slot of the class to the primary that is first in order of those without a place whom
// it can serve, else to the claim that stands lowest, with the fewest stops on the way, first in order; and
// makes it room if nobody wants it.
func (o *Ongoing) Fill(class int) {
	o.ways.begin(len(o.opens))
	o.ways.reach(class, 0, hop{claim: -1})
	least := o.lowest()
	var best find
	for from, dist := 0, 0; from < len(o.ways.queue); dist++ {
		from = o.spreadVacancy(from, dist, &best)
		if best.ok && (best.level < 0 || best.level == least) {
			break
		}
		o.spreadHeldVacancy(dist)
	}
	if !best.ok {
		o.room[class]++
		return
	}
	kind := Secondary
	if best.level < 0 {
		kind = Primary
		o.want(best.claim, -1)
	}
	for at := best.class; o.ways.hop[at].claim >= 0; at = o.ways.hop[at].from {
		o.move(o.ways.hop[at], at, o.ways.hop[at].from)
	}
	o.promise(best.claim, best.class, kind)
}

// lowest is the lowest level of a claim that may have more.
func (o *Ongoing) lowest() int {
	least := MaxCount
	for k, n := range o.level {
		if n < least && n < o.limit[k] && o.need[k] == 0 {
			least = n
		}
	}
	return least
}

// spreadVacancy looks at all classes of the distance, from that place of the queue on, for who would take a
// slot there, and follows promises that can move; it returns the end of the queue that it has looked at.
func (o *Ongoing) spreadVacancy(from, dist int, best *find) int {
	o.ways.fresh = o.ways.fresh[:0]
	for ; from < len(o.ways.queue); from++ {
		class := o.ways.queue[from]
		for g := range o.opens {
			if o.opens[g][class] && !o.ways.asked[g] {
				o.ways.asked[g] = true
				o.ways.fresh = append(o.ways.fresh, Put{g, class})
				o.takers(g, class, dist, best)
			}
		}
	}
	return from
}

// takers compares those of a group who would take a slot of the class. A primary counts as below any level.
func (o *Ongoing) takers(g, class, dist int, best *find) {
	for _, k := range o.groups[g] {
		if o.ahead[k]+o.later[k] > 0 {
			o.followPromises(k, class, dist)
		}
		level := o.level[k]
		switch {
		case o.need[k] > 0:
			level = -1
		case level >= o.limit[k]:
			continue
		}
		if !best.ok || level < best.level ||
			level == best.level && dist == best.stops && o.place[k] < o.place[best.claim] {
			*best = find{true, k, class, level, dist, false}
		}
	}
}

func (o *Ongoing) followPromises(k, class, dist int) {
	for n := range o.units[k] {
		switch u := &o.units[k][n]; {
		case u.primaries > 0:
			o.ways.reach(u.class, dist, hop{claim: k, from: class, kind: Primary})
		case u.secondaries > 0:
			o.ways.reach(u.class, dist, hop{claim: k, from: class, kind: Secondary})
		}
	}
}

// spreadHeldVacancy goes on from the classes of the distance to those one stop farther.
func (o *Ongoing) spreadHeldVacancy(dist int) {
	for _, f := range o.ways.fresh {
		if len(o.ways.queue) == len(o.room) {
			return
		}
		for _, k := range o.groups[f.Claim] {
			for n := range o.units[k] {
				if u := &o.units[k][n]; u.held > 0 {
					o.ways.reach(u.class, dist+1, hop{claim: k, from: f.Class, kind: Secondary, held: true})
				}
			}
		}
	}
}

// move takes a claim's unit from one class to another; one that is held is stopped, and promised anew.
func (o *Ongoing) move(h hop, from, to int) {
	u := o.unit(h.claim, from)
	if h.held {
		o.Release(h.claim, from)
		o.stops = append(o.stops, Put{h.claim, from})
	} else {
		o.takeBack(h.claim, u, h.kind)
	}
	o.promise(h.claim, to, h.kind)
	o.tops.class[from].known, o.tops.class[to].known = false, false
}

// Raise finds places for the claim's primaries that have none, then raises its secondaries as far as is fair:
// into room that there is, else at the expense of the highest, as long as that stands two or more above it.
func (o *Ongoing) Raise(claim int) {
	o.tops.begin()
	full := false
	for o.need[claim] > 0 {
		if full = full || !o.enter(claim, Primary); full && !o.displace(claim, Primary) && !o.outrank(claim, Primary) {
			return
		}
	}
	for full = false; o.level[claim] < o.limit[claim]; {
		if full = full || !o.enter(claim, Secondary); full && !o.displace(claim, Secondary) {
			o.outrank(claim, Secondary)
			return
		}
	}
}

// enter finds the claim a place in room that there is; others may move over.
func (o *Ongoing) enter(claim int, kind Kind) bool {
	any := false
	for _, n := range o.room {
		any = any || n > 0
	}
	if !any {
		return false
	}
	o.beginAt(claim)
	for from, dist := 0, 0; from < len(o.ways.queue); dist++ {
		for ; from < len(o.ways.queue); from++ {
			class := o.ways.queue[from]
			if o.room[class] > 0 {
				o.room[class]--
				o.takeWay(claim, class, kind)
				return true
			}
			o.pushOn(class, dist, false)
		}
		o.pushFarther(dist)
	}
	return false
}

// displace finds the claim a place at the expense of the secondaries of the highest claim that it reaches, with
// the fewest stops on the way; among equals the last in order gives way.
func (o *Ongoing) displace(claim int, kind Kind) bool {
	least := 1
	if kind == Secondary {
		least = o.level[claim] + 2
	}
	highest := o.highest(claim)
	if highest < least {
		return false
	}
	o.beginAt(claim)
	best := find{level: least}
	for from, dist := 0, 0; from < len(o.ways.queue); dist++ {
		for ; from < len(o.ways.queue); from++ {
			class := o.ways.queue[from]
			o.victims(claim, class, dist, &best)
			o.pushOn(class, dist, false)
		}
		if best.ok && best.level == highest && best.stops <= dist+1 {
			break
		}
		o.pushFarther(dist)
	}
	if !best.ok {
		return false
	}
	if best.level == highest {
		o.tops.left--
	}
	if best.held {
		o.Release(best.claim, best.class)
		o.stops = append(o.stops, Put{best.claim, best.class})
	} else {
		o.takeBack(best.claim, o.unit(best.claim, best.class), Secondary)
	}
	o.takeWay(claim, best.class, kind)
	return true
}

// outrank takes a promise over from the last in order of those that come after the claim: of a primary, or of
// a secondary by which another stands one above it, who then holds no more than the claim would.
func (o *Ongoing) outrank(claim int, kind Kind) bool {
	o.beginAt(claim)
	last, at := claim, 0
	for from := 0; from < len(o.ways.queue); from++ {
		class := o.ways.queue[from]
		if o.waits[class] == 0 {
			continue
		}
		for _, who := range o.users[class] {
			u := &o.units[who.claim][who.at]
			has := u.primaries > 0
			if kind == Secondary {
				has = u.secondaries > 0 && o.level[who.claim] == o.level[claim]+1
			}
			if has && o.place[who.claim] > o.place[last] {
				last, at = who.claim, class
			}
		}
		o.pushOn(class, 0, false)
	}
	if last == claim {
		return false
	}
	o.takeBack(last, o.unit(last, at), kind)
	if kind == Primary {
		o.want(last, 1)
	}
	o.takeWay(claim, at, kind)
	return true
}

// victims compares who gives way first in the class with the best so far.
func (o *Ongoing) victims(claim, class, dist int, best *find) {
	t, level, ok := o.topOf(claim, class)
	if !ok || level < best.level {
		return
	}
	stops, held := dist, t.turn < promised
	if held {
		stops++
	}
	if !best.ok || level > best.level || stops < best.stops ||
		stops == best.stops && o.place[t.claim] > o.place[best.claim] {
		*best = find{true, t.claim, class, level, stops, held}
	}
}

// beginAt begins ways at the classes open to the claim.
func (o *Ongoing) beginAt(claim int) {
	o.ways.begin(len(o.opens))
	for class, open := range o.opens[o.group[claim]] {
		if open {
			o.ways.reach(class, 0, hop{claim: -1})
		}
	}
}

// pushOn goes on from a class to those to which a unit there may move: promises, or what is held.
func (o *Ongoing) pushOn(class, dist int, held bool) {
	if len(o.ways.queue) == len(o.room) || !held && o.waits[class] == 0 {
		return
	}
	for _, who := range o.users[class] {
		u := &o.units[who.claim][who.at]
		by := hop{claim: who.claim, from: class, kind: Secondary, held: held}
		switch {
		case held && u.held == 0, !held && u.primaries+u.secondaries == 0:
			continue
		case !held && u.secondaries == 0:
			by.kind = Primary
		}
		for next, open := range o.opens[o.group[who.claim]] {
			if open {
				o.ways.reach(next, dist, by)
			}
		}
	}
}

// pushFarther goes on from the classes of the distance to those one stop farther.
func (o *Ongoing) pushFarther(dist int) {
	for _, class := range o.ways.queue[:len(o.ways.queue):len(o.ways.queue)] {
		if o.ways.dist[class] == dist {
			o.pushOn(class, dist+1, true)
		}
	}
}

// takeWay moves over those on the way to the class, where there is room now, and promises the claim the place
// where the way began.
func (o *Ongoing) takeWay(claim, class int, kind Kind) {
	for o.ways.hop[class].claim >= 0 {
		h := o.ways.hop[class]
		o.move(h, h.from, class)
		class = h.from
	}
	o.promise(claim, class, kind)
	if kind == Primary {
		o.want(claim, -1)
	}
}
