package smartshare

import (
	"cmp"
	"slices"
)

// block is a set of claims and classes that a fair division settles by itself: what each claim gets is
// known up to odd units; open is who gets those, what is kept, and where the rest starts.
type block struct {
	f      *Field
	d      *Division
	local  []int // by class of the field: its number here, plus one; 0 if not here
	class  []int // by number: the class of the field; -1 if only one claim may keep there
	room   []int // by number: slots free; below zero if more are kept than there are
	groups []blockGroup
	group  []int  // by group of the field: its number here, plus one
	gone   []bool // by class of the field: taken by an earlier block
	claims []blockClaim
	flow   *flow // of what starts, by group
	more   []int // by group: starts that found no room yet
}

type blockGroup struct {
	id    int
	units int // to start: primaries and secondaries
}

type blockClaim struct {
	id    int
	group int
	want  int // secondaries beside the floor
	kept  int
	odd   bool // may have one more
	extra bool // has it, counted in want
	held  []blockHold
}

// blockHold is a holding that lies in the block.
type blockHold struct {
	class, index int // here; and in the claim's Held
	count, kept  int
}

// newBlock takes the classes, and the primaries granted, of the part of the leveller that in names.
func newBlock(l *leveller, in func(node, class int) bool) *block {
	b := &block{f: l.field, d: l.d, gone: l.goneClass, local: make([]int, len(l.total)), group: make([]int, len(l.field.Open))}
	for c := range l.total {
		if in(-1, c) {
			b.class, b.room = append(b.class, c), append(b.room, l.total[c])
			b.local[c] = len(b.room)
		}
	}
	for g := range l.field.Open {
		if in(g, -1) && l.need[g] > 0 {
			b.groups[b.groupOf(g)].units = l.need[g]
		}
	}
	return b
}

func (b *block) groupOf(g int) int {
	if b.group[g] == 0 {
		b.groups = append(b.groups, blockGroup{id: g})
		b.group[g] = len(b.groups)
	}
	return b.group[g] - 1
}

// add puts a claim with so many secondaries, floor included, into the block. What it holds in a class of
// the field that stays outside, and that is not open to it, it keeps in a class of its own.
func (b *block) add(i, secondaries int, odd bool) {
	c := &b.f.Claims[i]
	claim := blockClaim{id: i, group: b.groupOf(c.Group), want: secondaries - c.Floor, odd: odd,
		held: make([]blockHold, 0, len(c.Held))}
	for k, h := range c.Held {
		class := b.local[h.Class] - 1
		switch {
		case class >= 0:
		case b.gone[h.Class] || b.f.opens(c.Group, h.Class):
			continue
		default:
			class = len(b.room)
			b.class, b.room = append(b.class, -1), append(b.room, h.Count)
		}
		claim.held = append(claim.held, blockHold{class: class, index: k, count: h.Count})
	}
	b.claims = append(b.claims, claim)
}

// solve settles the block, in which so many odd units are left to give.
func (b *block) solve(odd int) {
	b.makeFlow()
	if b.holdsNothing() {
		b.startAll()
		b.giveInOrder(odd)
	} else {
		b.giveToHolders(odd)
		for i := range b.claims {
			b.keepBest(&b.claims[i])
		}
		b.startAll()
		b.reroute()
	}
	b.write()
}

func (b *block) makeFlow() {
	arcs := make([][]arc, len(b.groups))
	for g := range b.groups {
		arcs[g] = make([]arc, 0, len(b.f.Open[b.groups[g].id]))
		for _, c := range b.f.Open[b.groups[g].id] {
			if n := b.local[c]; n > 0 {
				arcs[g] = append(arcs[g], arc{class: n - 1, limit: unbounded})
			}
		}
	}
	b.flow = newFlow(b.room, arcs)
	b.more = make([]int, len(b.groups))
}

func (b *block) holdsNothing() bool {
	for i := range b.claims {
		if len(b.claims[i].held) > 0 {
			return false
		}
	}
	return true
}

// giveInOrder gives the odd units to the first that can have one.
func (b *block) giveInOrder(odd int) {
	for i := range b.claims {
		c := &b.claims[i]
		if odd > 0 && c.odd && b.flow.push(c.group, 1) == 1 {
			c.want++
			c.extra = true
			odd--
		}
	}
}

// giveToHolders gives the odd units to those that hold more already, then to the first in order.
func (b *block) giveToHolders(odd int) {
	var takers []int
	holds := make([]bool, len(b.claims))
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

func (c *blockClaim) holds() int {
	n := 0
	for k := range c.held {
		n += c.held[k].count
	}
	return n
}

// keepBest keeps what is most worth keeping, as if classes had no end.
func (b *block) keepBest(c *blockClaim) {
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
func (b *block) nextWorth(c *blockClaim, k int) Worth { return b.worth(c, k, c.held[k].kept) }

func (b *block) worth(c *blockClaim, k, nth int) Worth {
	return b.f.Claims[c.id].Held[c.held[k].index].Worths[nth]
}

// startAll finds room for all that is not kept, as far as there is any.
func (b *block) startAll() {
	for i := range b.claims {
		b.groups[b.claims[i].group].units += b.claims[i].want - b.claims[i].kept
	}
	for c := range b.room {
		b.flow.room[c] = max(b.room[c], 0)
	}
	for g := range b.groups {
		b.more[g] = b.groups[g].units - b.flow.push(g, b.groups[g].units)
	}
	for c := range b.room {
		if b.room[c] >= 0 {
			b.room[c] = b.flow.room[c]
		}
	}
}

// write puts the answer into the division.
func (b *block) write() {
	for i := range b.claims {
		c := &b.claims[i]
		b.d.Target[c.id] = b.f.Claims[c.id].Floor + c.want
		for k := range c.held {
			b.d.Keep[c.id][c.held[k].index] = c.held[k].kept
		}
	}
	for g := range b.groups {
		for a := range b.flow.arcs[g] {
			arc := &b.flow.arcs[g][a]
			b.d.Place[b.groups[g].id][b.class[arc.class]] += arc.units
		}
	}
}
