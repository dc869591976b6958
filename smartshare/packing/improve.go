package packing

import (
	"cmp"
	"container/heap"
	"slices"

	"qb/smartshare"
)

// position is the place of a placed instance in a bin.
type position struct{ bin, at int }

// victims are placed instances to take out, those of a bin by place, descending; work is what that loses.
type victims struct {
	positions []position
	stops     int // of running ones
	work      smartshare.KeepValue
}

func (v victims) cheaper(w victims) bool {
	return cmp.Or(cmp.Compare(v.stops, w.stops), cmp.Compare(len(v.positions), len(w.positions)),
		v.work.Compare(w.work)) < 0
}

// displace finds secondaries, of the ones that may go, whose room in a bin lets the load in, and of the givers what
// it lacks beside: from the highest level down, cheapest first, and none that need not go.
func (p *packer) displace(bin, load int, givers []position, may func(placed) bool) (v victims, ok bool) {
	p.look(1)
	var list []position
	r := p.free(bin)
	for at, c := range p.placed[bin] {
		if !c.primary && may(c) {
			list = append(list, position{bin, at})
			r = p.without(r, bin, c)
		}
	}
	if !p.fits(r, load) {
		return v, false
	}
	p.look(len(list))
	if p.provided(load) {
		slices.SortFunc(list, p.compareInBin)
	} else {
		slices.SortFunc(list, func(x, y position) int { // what gives both goes first
			return cmp.Or(cmp.Compare(p.gives(load, y), p.gives(load, x)), p.compareInBin(x, y))
		})
	}
	p.fewest(&v, list, func(positions []position) bool {
		r := p.free(bin)
		for _, s := range positions {
			r = p.without(r, bin, p.at(s))
		}
		return p.fits(r, load)
	})
	if !p.provided(load) && !p.provide(&v, load, givers) {
		return v, false
	}
	slices.SortFunc(v.positions, func(x, y position) int {
		return cmp.Or(cmp.Compare(x.bin, y.bin),
			cmp.Compare(y.at, x.at))
	})
	return v, true
}

func (p *packer) at(s position) placed { return p.placed[s.bin][s.at] }

func (p *packer) comparePositions(x, y position) int {
	switch {
	case p.goesFirst(p.at(x), p.at(y)):
		return -1
	case p.goesFirst(p.at(y), p.at(x)):
		return 1
	}
	return cmp.Or(cmp.Compare(x.bin, y.bin), cmp.Compare(x.at, y.at))
}

// compareInBin orders positions of one bin. Where memory may decide, those of a load that were promised most go first:
// then fewer go, and, as with the load, whether the bin can be bettered depends on no worths.
func (p *packer) compareInBin(x, y position) int {
	a, b := p.at(x), p.at(y)
	if p.scant[x.bin] && a.load == b.load {
		return cmp.Or(cmp.Compare(p.promised(b), p.promised(a)), p.comparePositions(x, y))
	}
	return p.comparePositions(x, y)
}

// goesFirst says that a is to leave a bin before b: of the higher load, only to start yet, worth less. The
// load comes before the worth, so that whether a bin can be bettered never depends on worths: else packing
// again, with the worths of new instances, might move what has just been moved.
func (p *packer) goesFirst(a, b placed) bool {
	return cmp.Or(p.level(b.load, p.count[b.load]).compare(p.level(a.load, p.count[a.load])),
		cmp.Compare(b.load, a.load), cmp.Compare(p.isHeld(a), p.isHeld(b)), p.worthOf(a).Compare(p.worthOf(b)),
		cmp.Compare(b.held, a.held)) < 0
}

// fewest takes from the list until it suffices, then puts back what need not have gone. Does the list as a whole not
// suffice, it takes all.
func (p *packer) fewest(v *victims, list []position, suffices func([]position) bool) {
	n := 0
	for n < len(list) && !suffices(list[:n]) {
		n++
		p.scratch.Spend(n)
	}
	chosen := slices.Clone(list[:n])
	for k := n - 2; k >= 0; k-- {
		p.scratch.Spend(len(chosen))
		if without := slices.Delete(slices.Clone(chosen), k, k+1); suffices(without) {
			chosen = without
		}
	}
	for _, s := range chosen {
		c := p.at(s)
		v.positions = append(v.positions, s)
		v.stops += p.isHeld(c)
		v.work.Work += p.worthOf(c).Work
		v.work.Tie += p.worthOf(c).Tie
	}
}

func (p *packer) isHeld(c placed) int {
	if c.held >= 0 {
		return 1
	}
	return 0
}

func (p *packer) worthOf(c placed) smartshare.KeepValue {
	if c.held < 0 {
		return smartshare.KeepValue{}
	}
	return p.loads[c.load].Held[c.held].KeepValue
}

// remove takes placed instances, those of a bin given by descending place, out of their bins.
func (p *packer) remove(positions []position) (taken []placed) {
	for _, s := range positions {
		taken = append(taken, p.take(s.bin, s.at))
	}
	return taken
}

// rise raises the lowest load that can rise until none can. Who could not is asked again as long as
// anything changes, for others may stand higher now.
func (p *packer) rise() {
	frozen := make([]bool, len(p.loads))
	for changed := true; changed; clear(frozen) {
		changed = false
		for queue := p.risers(frozen); len(queue.list) > 0; {
			p.scratch.Spend(1)
			i := queue.list[0]
			if b := p.bestFit(i, p.open(i)); b >= 0 && p.count[i] < p.most[i] {
				p.put(b, placed{load: i, held: -1})
				queue.rose(i)
				changed = true
				continue
			}
			if p.effort > 0 && p.count[i] < p.most[i] && p.improve(i) {
				queue = p.risers(frozen)
				changed = true
				continue
			}
			frozen[i] = true
			heap.Pop(queue)
		}
	}
}

// risers queues the loads that may still rise, lowest level first, then in order.
func (p *packer) risers(frozen []bool) *riserQueue {
	p.scratch.Spend(len(p.loads))
	q := &riserQueue{p: p}
	for i := range p.loads {
		if !frozen[i] && p.count[i] < p.most[i] {
			q.list = append(q.list, i)
		}
	}
	heap.Init(q)
	return q
}

// improve lets a load in where it has no room, if that makes the sorted levels larger.
func (p *packer) improve(load int) bool {
	return p.improveByMove(load) || p.improveByTaking(load)
}

// improveByMove starts an instance of another load elsewhere, or moves it there, to make room.
func (p *packer) improveByMove(load int) bool {
	if !p.provided(load) {
		return false
	}
	best, bestAt, bestTo := -1, 0, 0
	var least victims
	to := make(map[fitKey][2]int)
	for b := range p.open(load) {
		p.look(len(p.placed[b]))
		for at, c := range p.placed[b] {
			if c.load == load || c.primary && p.lacking || !p.fits(p.without(p.free(b), b, c), load) {
				continue
			}
			v := victims{positions: []position{{b, at}}, stops: p.isHeld(c), work: p.worthOf(c)}
			if best >= 0 && !v.cheaper(least) {
				continue
			}
			if other := p.otherFit(to, c, b); other >= 0 && !p.delays(c, other) {
				best, bestAt, bestTo, least = b, at, other, v
			}
		}
	}
	if best < 0 {
		return false
	}
	c := p.take(best, bestAt)
	p.put(bestTo, placed{load: c.load, held: -1, primary: c.primary})
	p.put(best, placed{load: load, held: -1})
	return true
}

// delays says that a primary which may start at once where it is would wait for an end in the other bin.
func (p *packer) delays(c placed, other int) bool {
	return c.primary && c.now && !p.startsNow(c.load, other)
}

// fitKey is what the best bins for a placed instance depend on.
type fitKey struct {
	load, rank int
	primary    bool
}

// otherFit is the best bin for a placed instance but the one it is in; to remembers the best two, which are the same
// for all placed instances alike while nothing moves.
func (p *packer) otherFit(to map[fitKey][2]int, c placed, bin int) int {
	key := fitKey{load: c.load, primary: c.primary}
	in := p.open(c.load)
	if c.primary {
		key.rank = p.rankIn(c.load, bin)
		in = p.ranked(c.load, key.rank)
	}
	two, known := to[key]
	if !known {
		two[0] = p.bestFit(c.load, in)
		two[1] = p.bestFit(c.load, but(two[0], in))
		to[key] = two
	}
	if two[0] == bin {
		return two[1]
	}
	return two[0]
}

// improveByTaking takes instances of higher loads out of a bin for this one and for others that then fit.
func (p *packer) improveByTaking(load int) bool {
	stays := func(i int) bool { return !p.yields(i, load) }
	any := false
	for i := range p.loads {
		any = any || i != load && p.count[i] > p.loads[i].Floor && !stays(i)
	}
	if !any {
		return false
	}
	best := -1
	var least victims
	givers := p.givers(load, func(c placed) bool { return c.load != load && !stays(c.load) })
	for b := range p.open(load) {
		if p.effort < 0 {
			break
		}
		for _, only := range p.donors(b, load, stays) {
			v, ok := p.displace(b, load, givers, func(c placed) bool {
				return c.load != load && !stays(c.load) &&
					(only < 0 || c.load == only)
			})
			if ok && (best < 0 || v.cheaper(least)) && p.gains(b, load, v.positions, false) {
				best, least = b, v
			}
		}
	}
	return best >= 0 && p.gains(best, load, least.positions, true)
}

func (p *packer) allLoads() []int {
	all := make([]int, len(p.loads))
	for i := range all {
		all[i] = i
	}
	return all
}

// donors are the loads of a bin that are high enough to give, and -1 for all of them together, or for none where it
// is no room in the bin that the load lacks.
func (p *packer) donors(bin, load int, stays func(int) bool) (list []int) {
	for _, c := range p.placed[bin] {
		if !c.primary && c.load != load && !stays(c.load) && !slices.Contains(list, c.load) {
			list = append(list, c.load)
		}
	}
	if len(list) > 1 || len(list) == 0 && !p.provided(load) {
		list = append(list, -1)
	}
	return list
}

// gains tries the bins without some placed instances and one with one of the load, filled up by others, lowest first:
// does that make the sorted levels larger? If it is to keep and does, the bins stay so.
func (p *packer) gains(bin, load int, positions []position, keep bool) bool {
	p.scratch.Spend(len(p.loads))
	before := slices.Clone(p.count)
	taken := p.remove(positions)
	p.put(bin, placed{load: load, held: -1})
	added, last := []int{bin}, -1
	for n := -1; n < len(positions); n++ {
		b := bin
		if n >= 0 {
			b = positions[n].bin
		}
		if b == last {
			continue
		}
		last = b
		for i := p.lowestFor(b, taken); i >= 0; i = p.lowestFor(b, taken) {
			p.put(b, placed{load: i, held: -1})
			added = append(added, b)
		}
	}
	better := p.larger(before)
	if better && keep {
		return true
	}
	for k := len(added) - 1; k >= 0; k-- {
		p.take(added[k], len(p.placed[added[k]])-1)
	}
	for k := len(taken) - 1; k >= 0; k-- {
		p.putAt(positions[k].bin, positions[k].at, taken[k])
	}
	return better
}

// putAt undoes a take.
func (p *packer) putAt(bin, at int, c placed) {
	p.put(bin, c)
	last := len(p.placed[bin]) - 1
	copy(p.placed[bin][at+1:], p.placed[bin][at:last])
	p.placed[bin][at] = c
}

// lowestFor is the lowest load that may rise in a bin and has not just left it; -1 if there is none.
func (p *packer) lowestFor(bin int, left []placed) int {
	best := -1
	for i := range p.loads {
		p.look(1)
		if p.count[i] >= p.most[i] || !p.fits(p.free(bin), i) || !p.provided(i) || best >= 0 &&
			p.level(i, p.count[i]).compare(p.level(best, p.count[best])) >= 0 ||
			slices.ContainsFunc(left, func(c placed) bool { return c.load == i }) || !p.mayStart(bin, i) {
			continue
		}
		best = i
	}
	return best
}

func (p *packer) mayStart(bin, load int) bool {
	if p.bins[bin].Closed {
		return false
	}
	return p.loads[load].Bins == nil || slices.Contains(p.loads[load].Bins, bin)
}

// riserQueue is a heap of loads, the lowest level first, then in order.
type riserQueue struct {
	p    *packer
	list []int
}

// rose puts the first load where it now belongs, and with it all others of its owner.
func (q *riserQueue) rose(load int) {
	if q.p.loads[load].Owner > 0 {
		heap.Init(q)
	} else {
		heap.Fix(q, 0)
	}
}

func (q *riserQueue) Len() int      { return len(q.list) }
func (q *riserQueue) Swap(x, y int) { q.list[x], q.list[y] = q.list[y], q.list[x] }
func (q *riserQueue) Less(x, y int) bool {
	a, b := q.list[x], q.list[y]
	return cmp.Or(q.p.level(a, q.p.count[a]).compare(q.p.level(b, q.p.count[b])), cmp.Compare(a, b)) < 0
}
func (q *riserQueue) Push(x any) { q.list = append(q.list, x.(int)) }
func (q *riserQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}
