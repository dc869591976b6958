package smartshare

import (
	"cmp"
	"slices"
)

// capByOwner lowers the caps of a field whose claims have owners to what each is due when the surplus is
// divided by owner first and then among an owner's claims. Both levels are exact:
//
//   - the sorted totals of the owners are lexicographically largest;
//   - with those totals, and the divisions of the owners before him, each owner's claims have the
//     lexicographically largest sorted levels, owners taken in the order of their numbers. (Not of their
//     first claims: which claims there are depends on what runs, so that dividing again might begin with
//     another owner.)
//
// With one class and one group of claims no such division needs fewer stops. An odd unit is an owner's
// whose claims hold it already, then the first's in order.
func (f *Field) capByOwner() {
	if !slices.ContainsFunc(f.Claims, func(c Claim) bool { return c.Owner > 0 }) {
		return
	}
	u := newOwners(f)
	u.raiseOwners()
	if !u.divideFreely() {
		for o := range u.claims {
			u.divideWithin(o)
		}
	}
	claims := slices.Clone(f.Claims)
	for i := range claims {
		claims[i].Cap = u.target[i]
	}
	f.Claims = claims
}

// owners is the state of one division by owner: the flow of a leveller with two layers more, in which units go from an
// owner over his claims to their nodes. They may be routed again over another claim of the same owner. An owner that is
// dissolved has no total any more: his claims are routed by themselves.
type owners struct {
	f       *Field
	flow    *flow
	bounds  *bounds // what primaries leave of the limits
	ofClaim []int   // by claim: its node
	ofOwner []int   // by owner: his node
	onePool bool
	claims  [][]int // by owner: his claims, in order
	fill    *filler // of the claims
	total   []int   // by owner: secondaries, floors included
	target  []int   // by claim
	held    []int   // by claim: secondaries that run, floor included
}

func newOwners(f *Field) *owners {
	d := Division{Grant: make([]int, len(f.Claims)), Tier: make([][]int, len(f.Claims))}
	l := newLeveller(f, &d)
	l.grantPrimaries()
	u := &owners{f: f, flow: l.flow, bounds: l.bounds, fill: l.fill, target: make([]int, len(f.Claims)),
		held:    make([]int, len(f.Claims)),
		onePool: len(f.Capacity) == 1 && len(f.Open) == 1 && len(l.need) == 1}
	var numbers []int
	for i := range f.Claims {
		numbers = append(numbers, f.Claims[i].Owner)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	u.claims, u.total = make([][]int, len(numbers)), make([]int, len(numbers))
	for i := range f.Claims {
		c := &f.Claims[i]
		o, _ := slices.BinarySearch(numbers, c.Owner)
		u.claims[o] = append(u.claims[o], i)
		u.total[o] += c.Floor
		u.held[i] = c.held()
	}
	u.addLayers(l.node)
	return u
}

// addLayers lets units go from owners over claims to the nodes that those have in the flow.
func (u *owners) addLayers(nodes []int) {
	classes, most := len(u.flow.room), func(i int) int { return u.fill.cap[i] - u.fill.floor[i] }
	for i, node := range nodes {
		u.ofClaim = append(u.ofClaim, u.flow.addNode([]arc{{to: classes + node, limit: most(i)}}))
	}
	for _, claims := range u.claims {
		var arcs []arc
		for _, i := range claims {
			arcs = append(arcs, arc{to: classes + u.ofClaim[i], limit: most(i)})
		}
		u.ofOwner = append(u.ofOwner, u.flow.addNode(arcs))
	}
	u.flow.revive()
}

// dissolve takes back what an owner's claims have and lets them stand for themselves.
func (u *owners) dissolve(o int) {
	for a := range u.flow.arcs[u.ofOwner[o]] {
		own := &u.flow.arcs[u.ofOwner[o]][a]
		claim := &u.flow.arcs[own.to-len(u.flow.room)][0]
		u.takeBack(claim.to-len(u.flow.room), own.units)
		own.units, claim.units = 0, 0
	}
	u.flow.revive()
}

// takeBack takes units of a node out of its classes: they are all alike.
func (u *owners) takeBack(node, units int) {
	for a := range u.flow.arcs[node] {
		arc := &u.flow.arcs[node][a]
		some := min(units, arc.units)
		units -= some
		arc.units -= some
		u.flow.room[arc.to] += some
	}
}

// raiseOwners finds the totals of the owners. An owner weighs as much as the heaviest of his claims.
func (u *owners) raiseOwners() {
	n := len(u.claims)
	floors, caps, weights := slices.Clone(u.total), make([]int, n), make([]float64, n)
	all := make([]int, n)
	for o, claims := range u.claims {
		all[o] = o
		for _, i := range claims {
			caps[o] += u.fill.cap[i]
			weights[o] = max(weights[o], u.f.Claims[i].Weight)
		}
	}
	u.limitOwners(caps)
	r := riser{fill: newFiller(floors, caps, weights), flow: u.flow, count: u.total,
		bound: sumOf(u.f.Capacity) + sumOf(floors),
		node:  u.ofOwner, prefer: u.preferOwner}
	r.rise(all)
}

// limitOwners lowers the caps of owners to the limits on their claims.
func (u *owners) limitOwners(caps []int) {
	for k, l := range u.f.Limits {
		for o, claims := range u.claims {
			if len(l.Claims) > 0 && slices.Contains(claims, l.Claims[0]) {
				caps[o] = min(caps[o], u.total[o]+u.bounds.left[k])
			}
		}
	}
}

func sumOf(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

// preferOwner ranks owners for an odd unit, the least first. In one pool it is the stop that it saves which
// counts; where hosts differ it is first whether he holds it, so that dividing again changes nothing.
func (u *owners) preferOwner(o int) int {
	stops := func(total int) (n int) {
		for k, got := range u.freely(o, total) {
			n += max(0, u.held[u.claims[o][k]]-got)
		}
		return n
	}
	held := 0
	for _, i := range u.claims[o] {
		held += u.held[i]
	}
	rank := 0
	if stops(u.total[o]) <= stops(u.total[o]+1) {
		rank = 1
	}
	if !u.onePool && held <= u.total[o] {
		rank += 2
	}
	return rank
}

// freely divides a total among an owner's claims as if each could use any slot.
func (u *owners) freely(o, total int) []int {
	shares := make([]Share, len(u.claims[o]))
	for k, i := range u.claims[o] {
		shares[k] = Share{Cap: u.fill.cap[i], Floor: u.f.Claims[i].Floor, Held: u.held[i], Weight: u.f.Claims[i].Weight,
			Rank: k}
	}
	u.f.Scratch.Spend(len(shares))
	return WaterFill(shares, total)
}

// divideFreely divides every owner's total among his claims as if each could use any slot. If the slots
// allow all of that together nothing can be fairer.
func (u *owners) divideFreely() bool {
	for o, claims := range u.claims {
		for k, got := range u.freely(o, u.total[o]) {
			u.target[claims[k]] = got
		}
	}
	if u.onePool {
		return true
	}
	var before flowState
	u.flow.save(&before)
	for o := range u.claims {
		u.dissolve(o)
	}
	for i, node := range u.ofClaim {
		if n := u.target[i] - u.f.Claims[i].Floor; u.flow.push(node, n) < n {
			u.flow.restore(&before)
			return false
		}
	}
	return true
}

// divideWithin divides an owner's total among his claims, the others' totals as they are. Under limits there may be
// room for more.
func (u *owners) divideWithin(o int) {
	u.dissolve(o)
	total := &bounds{left: []int{u.total[o]}, of: make([][]int, len(u.target))}
	for _, i := range u.claims[o] {
		u.target[i], total.of[i] = u.f.Claims[i].Floor, []int{0}
		total.left[0] -= u.target[i]
	}
	r := riser{fill: u.fill, flow: u.flow, count: u.target, bound: u.total[o], node: u.ofClaim, limits: total,
		prefer: func(i int) int {
			if u.held[i] > u.target[i] {
				return 0
			}
			return 1
		}}
	r.rise(slices.Clone(u.claims[o]))
}

// riser raises members to the lexicographically largest levels that a flow allows: the lowest first, and
// who cannot be raised once never can.
type riser struct {
	fill   *filler
	flow   *flow
	before flowState
	node   []int                // by member: of the flow
	count  []int                // by member, floor included
	bound  int                  // more than that they cannot have together
	prefer func(member int) int // who gets an odd unit: the least, then the first
	limits *bounds              // of the members
}

func (r *riser) rise(alive []int) {
	for len(alive) > 0 {
		base := r.common(alive)
		for last := base; ; {
			next, ok := r.fill.above(alive, last)
			if !ok {
				return
			}
			still := r.step(alive, next)
			if last = next; len(still) < len(alive) {
				alive = still
				break
			}
		}
	}
}

// common raises all to the highest whole level that all can reach.
func (r *riser) common(alive []int) level {
	top := r.fill.highest(alive, r.bound)
	if r.raise(alive, top) {
		return top
	}
	lo, hi := uint64(0), top.k*r.fill.den/top.w+1
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if r.raise(alive, level{mid, r.fill.den}) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return level{lo, r.fill.den}
}

// raise brings all up to a level, or none.
func (r *riser) raise(alive []int, to level) bool {
	r.flow.scratch.Spend(len(alive) + 1)
	if !r.limits.allow(alive, func(m int) int { return r.fill.at(m, to) - r.count[m] }) {
		return false
	}
	r.flow.save(&r.before)
	for _, m := range alive {
		if n := r.fill.at(m, to) - r.count[m]; n > 0 && r.flow.push(r.node[m], n) < n {
			r.flow.restore(&r.before)
			return false
		}
	}
	for _, m := range alive {
		if n := r.fill.at(m, to) - r.count[m]; n > 0 {
			r.limits.draw(m, n)
			r.count[m] += n
		}
	}
	return true
}

// step raises owners right below a level by one, and drops the ones that cannot be.
func (r *riser) step(alive []int, to level) []int {
	type candidate struct{ member, rank int }
	var list []candidate
	r.flow.scratch.Spend(len(alive) + 1)
	for _, m := range alive {
		if r.fill.at(m, to) > r.count[m] {
			list = append(list, candidate{m, r.prefer(m)})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.member, b.member))
	})
	failed := map[int]bool{}
	for _, c := range list {
		if r.limits.most(c.member, 1) == 1 && r.flow.push(r.node[c.member], 1) == 1 {
			r.limits.draw(c.member, 1)
			r.count[c.member]++
		} else {
			failed[c.member] = true
			r.bound -= r.count[c.member]
		}
	}
	return slices.DeleteFunc(slices.Clone(alive), func(m int) bool { return failed[m] })
}
