package smartshare

import "slices"

// Limit bounds the claims of a field together. A claim may be under several limits.
type Limit struct {
	Room   int   // most instances beside pinned ones, primaries to be placed included
	Claims []int // none twice
}

// bounds are the limits of a field during a division.
type bounds struct {
	left []int   // by limit
	of   [][]int // by claim: limits
}

// newBounds is nil where a field has no limits.
func newBounds(f *Field) *bounds {
	if len(f.Limits) == 0 {
		return nil
	}
	b := &bounds{left: make([]int, len(f.Limits)), of: make([][]int, len(f.Claims))}
	for k, l := range f.Limits {
		b.left[k] = max(0, l.Room)
		for _, i := range l.Claims {
			b.of[i] = append(b.of[i], k)
		}
	}
	return b
}

// most is how many of n units more the limits of a claim allow.
func (b *bounds) most(claim, n int) int {
	if b == nil {
		return n
	}
	for _, k := range b.of[claim] {
		n = min(n, b.left[k])
	}
	return n
}

// draw takes n units of a claim out of its limits.
func (b *bounds) draw(claim, n int) {
	if b == nil {
		return
	}
	for _, k := range b.of[claim] {
		b.left[k] -= n
	}
}

// allow says whether the limits allow that all members get so many units more.
func (b *bounds) allow(members []int, more func(member int) int) bool {
	if b == nil {
		return true
	}
	left := slices.Clone(b.left)
	for _, m := range members {
		n := max(0, more(m))
		for _, k := range b.of[m] {
			if left[k] -= n; left[k] < 0 {
				return false
			}
		}
	}
	return true
}

// capByLimits lowers the caps of a field to what each claim is due under its limits: it raises the lowest claims that
// can rise, then exchanges odd units. In one class whose limits are nested, or share no claims, the sorted levels are
// the lexicographically largest. Where limits cross each other or lists of classes that is a problem without a known
// fast answer; an odd unit may be with a claim that lets fewer others rise. In any case nothing is left that a claim
// could use. An odd unit goes to a claim that holds it already, then to the first in order.
//
// Where claims have owners only limits on all claims of one owner are obeyed here, by capByOwner.
func (f *Field) capByLimits() {
	if len(f.Limits) == 0 || slices.ContainsFunc(f.Claims, func(c Claim) bool { return c.Owner > 0 }) {
		return
	}
	d := Division{Grant: make([]int, len(f.Claims)), Tier: make([][]int, len(f.Claims))}
	l := newLeveller(f, &d)
	l.grantPrimaries()
	held, floors := make([]int, len(f.Claims)), 0
	for i := range f.Claims {
		held[i] = f.Claims[i].held()
		floors += f.Claims[i].Floor
	}
	r := riser{fill: l.fill, flow: l.flow, count: l.count, bound: sumOf(f.Capacity) + floors, node: l.node,
		limits: l.bounds,
		prefer: func(i int) int {
			if held[i] > l.count[i] {
				return 0
			}
			return 1
		}}
	r.rise(slices.Clone(l.alive))
	l.exchange(&r)
	claims := slices.Clone(f.Claims)
	for i := range claims {
		claims[i].Cap = l.count[i]
	}
	f.Claims = claims
}

// exchanged bounds the claims among which units are exchanged.
const exchanged = 64

// exchange takes a unit from a claim wherever others can have units instead that make the sorted levels larger.
func (l *leveller) exchange(r *riser) {
	if len(l.count) > exchanged {
		return
	}
	for i := 0; i < len(l.count); i++ {
		if l.count[i] == l.field.Claims[i].Floor {
			continue
		}
		l.field.Scratch.Spend(len(l.count))
		var flow flowState
		before, left := slices.Clone(l.count), slices.Clone(l.bounds.left)
		l.flow.save(&flow)
		l.takeBack(i)
		r.rise(slices.DeleteFunc(slices.Clone(l.alive), func(o int) bool { return o == i }))
		r.rise([]int{i})
		if l.fairer(before) {
			i = -1
			continue
		}
		copy(l.count, before)
		copy(l.bounds.left, left)
		l.flow.restore(&flow)
	}
}

// takeBack takes a unit of a claim out of its classes and limits.
func (l *leveller) takeBack(i int) {
	arcs := l.flow.arcs[l.node[i]]
	a := slices.IndexFunc(arcs, func(a arc) bool { return a.units > 0 })
	arcs[a].units--
	l.flow.room[arcs[a].to]++
	l.flow.revive()
	l.count[i]--
	l.bounds.draw(i, -1)
}

// fairer says whether more has been given at the lowest level at which that differs from other counts.
func (l *leveller) fairer(than []int) bool {
	var gained, lost []level
	for i, n := range l.count {
		for k := than[i]; k < n; k++ {
			gained = append(gained, l.fill.next(i, k))
		}
		for k := n; k < than[i]; k++ {
			lost = append(lost, l.fill.next(i, k))
		}
	}
	slices.SortFunc(gained, level.compare)
	slices.SortFunc(lost, level.compare)
	for k := range min(len(gained), len(lost)) {
		if c := gained[k].compare(lost[k]); c != 0 {
			return c < 0
		}
	}
	return len(gained) > len(lost)
}

// held is how many secondaries of a claim run, the pinned ones included.
func (c *Claim) held() int {
	n := c.Floor
	for _, h := range c.Held {
		n += h.Count
	}
	return n
}
