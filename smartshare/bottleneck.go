package smartshare

import (
	"cmp"
	"slices"
)

// bottleneck is a set of claims and classes that a fair division settles by itself: what each claim gets is
// known up to odd units; open is who gets those, what is kept, and where the rest starts.
type bottleneck struct {
	f      *Field
	d      *Division
	parts  [][2]int // by class of the field: the numbers here, plus one, of what is vacant of it and of the rest; 0: none
	class  []int    // by number: the class of the field; -1 if only one claim may keep there
	room   []int    // by number: slots free; below zero if more are kept than there are
	groups []bottleneckGroup
	group  [2][]int // by kind and group of the field: its number here, plus one
	waits  bool     // a start may have to wait for an end; else groups hold both kinds
	gone   []bool   // by class of the field: taken by an earlier bottleneck
	claims []bottleneckClaim
	holds  []bottleneckHold // room for those of claims
	flow   *flow            // of what starts, by group
	more   []int            // by group: starts that found no room yet
}

// bottleneckGroup are the starts of the claims of one group, those of one kind where it matters who waits.
type bottleneckGroup struct {
	id, kind  int
	units     int
	primaries int // of the units
}

// The kinds of starts.
const (
	primary = iota
	secondary
)

type bottleneckClaim struct {
	id    int
	group int
	want  int // secondaries beside the floor
	kept  int
	odd   bool // may have one more
	extra bool // has it, counted in want
	held  []bottleneckHold
}

// bottleneckHold is a holding that lies in the bottleneck.
type bottleneckHold struct {
	class, index int // here; and in the claim's Held
	count, kept  int
}

// bottleneckHolds is for how many holdings of claims room is made at once.
const bottleneckHolds = 1024

// newBlock takes the classes, and the primaries granted, of the part of the leveller that in names.
func newBottleneck(l *leveller, in func(node, class int) bool) *bottleneck {
	b := &bottleneck{f: l.field, d: l.d, gone: l.goneClass, parts: make([][2]int, len(l.total))}
	for kind := range b.group {
		b.group[kind] = make([]int, len(l.field.Open))
	}
	for c := range l.total {
		if in(-1, c) {
			b.addClass(c, l.total[c])
		}
	}
	for g := range l.field.Open {
		if in(g, -1) && l.need[g] > 0 {
			at := b.groupOf(g, primary)
			b.groups[at].units, b.groups[at].primaries = l.need[g], l.need[g]
		}
	}
	return b
}

// addClass takes a class in. What is vacant of it is a part by itself, in which nothing is held and no start waits.
func (b *bottleneck) addClass(c, slots int) {
	vacant := slots
	if b.f.Vacant != nil {
		vacant = min(b.f.Vacant[c], max(0, slots))
	}
	for part, n := range [2]int{vacant, slots - vacant} {
		if n != 0 || part == 1 && vacant == 0 {
			b.class, b.room = append(b.class, c), append(b.room, n)
			b.parts[c][part] = len(b.room)
			b.waits = b.waits || part == 1
		}
	}
}

// heldIn is the part of a class in which instances are held, plus one; 0 if the class is not here.
func (b *bottleneck) heldIn(c int) int { return cmp.Or(b.parts[c][1], b.parts[c][0]) }

func (b *bottleneck) groupOf(g, kind int) int {
	if !b.waits {
		kind = primary
	}
	if b.group[kind][g] == 0 {
		b.groups = append(b.groups, bottleneckGroup{id: g, kind: kind})
		b.group[kind][g] = len(b.groups)
	}
	return b.group[kind][g] - 1
}

// add puts a claim with so many secondaries, floor included, into the bottleneck. What it holds in a class of
// the field that stays outside, and that is not open to it, it keeps in a class of its own.
func (b *bottleneck) add(i, secondaries int, odd bool) {
	c := &b.f.Claims[i]
	if cap(b.holds)-len(b.holds) < len(c.Held) {
		b.holds = Lend[bottleneckHold](b.f.Scratch, max(len(c.Held), bottleneckHolds))[:0]
	}
	room := len(b.holds)
	claim := bottleneckClaim{id: i, group: b.groupOf(c.Group, secondary), want: secondaries - c.Floor, odd: odd,
		held: b.holds[room : room : room+len(c.Held)]}
	for k, h := range c.Held {
		class := b.heldIn(h.Class) - 1
		switch {
		case class >= 0:
		case b.gone[h.Class] || b.f.opens(c.Group, h.Class):
			continue
		default:
			class = len(b.room)
			b.class, b.room = append(b.class, -1), append(b.room, h.Count)
		}
		claim.held = append(claim.held, bottleneckHold{class: class, index: k, count: h.Count})
	}
	b.holds = b.holds[:len(b.holds)+len(claim.held)]
	b.claims = append(b.claims, claim)
}

// solve settles the bottleneck, in which so many odd units are left to give.
func (b *bottleneck) solve(odd int) {
	b.makeFlow()
	b.giveOdd(odd)
	for i := range b.claims {
		b.keepBest(&b.claims[i])
	}
	b.startAll()
	b.fit()
	b.write()
}

// What it costs that a start waits for an end: a primary's wait costs more than those of all secondaries.
const (
	primaryWaits   = MaxCount
	secondaryWaits = 1
)

func (b *bottleneck) makeFlow() {
	arcs := make([][]arc, len(b.groups))
	for g := range b.groups {
		wait := int64(secondaryWaits)
		if b.groups[g].kind == primary {
			wait = primaryWaits
		}
		arcs[g] = make([]arc, 0, len(b.f.Open[b.groups[g].id]))
		for _, c := range b.f.Open[b.groups[g].id] {
			if n := b.parts[c][0]; n > 0 {
				arcs[g] = append(arcs[g], arc{to: n - 1, limit: unbounded})
			}
			if n := b.parts[c][1]; n > 0 {
				arcs[g] = append(arcs[g], arc{to: n - 1, limit: unbounded, wait: wait})
			}
		}
	}
	b.flow = newFlow(b.f.Scratch, b.room, arcs)
	b.more = make([]int, len(b.groups))
}

// giveOdd gives the odd units to the ones that hold more already, then to the first in order.
func (b *bottleneck) giveOdd(odd int) {
	takers, holds := Lend[int](b.f.Scratch, len(b.claims))[:0], Lend[bool](b.f.Scratch, len(b.claims))
	for i := range b.claims {
		c := &b.claims[i]
		if c.odd {
			takers = append(takers, i)
			holds[i] = c.holds() > c.want
		}
	}
	slices.SortStableFunc(takers, func(x, y int) int {
		if holds[x] != holds[y] {
			if holds[x] {
				return -1
			}
			return 1
		}
		return cmp.Compare(x, y)
	})
	for _, i := range takers[:min(odd, len(takers))] {
		b.claims[i].want++
		b.claims[i].extra = true
	}
}

func (c *bottleneckClaim) holds() int {
	n := 0
	for k := range c.held {
		n += c.held[k].count
	}
	return n
}

// keepBest keeps what is most worth keeping, as if classes had no end.
func (b *bottleneck) keepBest(c *bottleneckClaim) {
	total := c.holds()
	c.kept = min(total, c.want)
	for k := range c.held {
		if c.kept == total {
			c.held[k].kept = c.held[k].count
		} else if len(c.held) == 1 {
			c.held[k].kept = c.kept
		}
	}
	if c.kept < total && len(c.held) > 1 {
		for range c.kept {
			b.f.Scratch.Spend(len(c.held))
			best := -1
			for k := range c.held {
				if c.held[k].kept < c.held[k].count && (best < 0 || b.nextWorth(c, best).Compare(b.nextWorth(c, k)) < 0) {
					best = k
				}
			}
			c.held[best].kept++
		}
	}
	for k := range c.held {
		b.room[c.held[k].class] -= c.held[k].kept
	}
}

// nextWorth is what keeping one more of a holding is good for.
func (b *bottleneck) nextWorth(c *bottleneckClaim, k int) KeepValue {
	return b.worth(c, k, c.held[k].kept)
}

func (b *bottleneck) worth(c *bottleneckClaim, k, nth int) KeepValue {
	worths := b.f.Claims[c.id].Held[c.held[k].index].KeepValues
	if worths == nil {
		return KeepValue{}
	}
	return worths[nth]
}

// startAll finds room for what is not kept, as far as that takes no more than starts of which as few wait for an end as
// can: first where none waits, then where secondaries wait, also in place of primaries, then where primaries wait.
func (b *bottleneck) startAll() {
	for i := range b.claims {
		b.groups[b.claims[i].group].units += b.claims[i].want - b.claims[i].kept
	}
	for g := range b.groups {
		b.more[g] = b.groups[g].units
	}
	b.limitWaits(primary, 0)
	b.startIn(func(part int) bool { return b.vacant(part) })
	b.startIn(func(int) bool { return true })
	b.limitWaits(primary, unbounded)
	b.startIn(func(part int) bool { return !b.vacant(part) })
}

// vacant says that no start waits in a part of a class.
func (b *bottleneck) vacant(part int) bool {
	return b.class[part] >= 0 && b.parts[b.class[part]][0] == part+1
}

// limitWaits bounds how many starts of a kind may wait for an end.
func (b *bottleneck) limitWaits(kind, limit int) {
	for g := range b.groups {
		for a := range b.flow.arcs[g] {
			if arc := &b.flow.arcs[g][a]; b.groups[g].kind == kind && arc.wait > 0 {
				arc.limit = limit
			}
		}
	}
}

// startIn finds room in some parts of classes; what has been started in others stays there.
func (b *bottleneck) startIn(in func(part int) bool) {
	waiting := 0
	for _, n := range b.more {
		waiting += n
	}
	if waiting == 0 {
		return
	}
	b.flow.revive()
	for n := range b.room {
		b.flow.room[n], b.flow.dead[n] = 0, true
		if in(n) {
			b.flow.room[n], b.flow.dead[n] = max(b.room[n], 0), false
		}
	}
	for g := range b.groups {
		b.more[g] -= b.flow.push(g, b.more[g])
	}
	for n := range b.room {
		if b.room[n] > 0 && in(n) {
			b.room[n] = b.flow.room[n]
		}
	}
}

// write puts the answer into the division.
func (b *bottleneck) write() {
	for i := range b.claims {
		c := &b.claims[i]
		b.d.Target[c.id] = b.f.Claims[c.id].Floor + c.want
		for k := range c.held {
			b.d.Keep[c.id][c.held[k].index] = c.held[k].kept
		}
	}
	for g := range b.groups {
		for a := range b.flow.arcs[g] {
			group, arc := &b.groups[g], &b.flow.arcs[g][a]
			first := min(group.primaries, arc.units)
			group.primaries -= first
			b.d.Starts[primary][group.id][b.class[arc.to]] += first
			b.d.Starts[secondary][group.id][b.class[arc.to]] += arc.units - first
		}
	}
}
