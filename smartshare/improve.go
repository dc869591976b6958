package smartshare

import (
	"cmp"
	"container/heap"
	"slices"
)

// victims are chips of one bin to take out, by place, descending; work is what that loses.
type victims struct {
	chips []int
	stops int // of running ones
	work  Worth
}

func (v victims) cheaper(w victims) bool {
	return cmp.Or(cmp.Compare(v.stops, w.stops), cmp.Compare(len(v.chips), len(w.chips)), v.work.compare(w.work)) < 0
}

func (w Worth) compare(v Worth) int {
	return cmp.Or(cmp.Compare(w.Work, v.Work), cmp.Compare(w.Tie, v.Tie))
}

// displace finds secondaries in a bin, of those that may go, whose room lets the load in: from the highest
// level down, cheapest first, and none that need not go.
func (p *packer) displace(bin, load int, may func(chip) bool) (v victims, ok bool) {
	p.effort--
	var list []int
	r := p.free(bin)
	for at, c := range p.chips[bin] {
		if !c.primary && may(c) {
			list = append(list, at)
			r = p.with(r, bin, c.load, 1)
		}
	}
	if !p.fits(r, load) {
		return v, false
	}
	p.effort -= len(list)
	slices.SortFunc(list, func(x, y int) int {
		if p.goesFirst(p.chips[bin][x], p.chips[bin][y]) {
			return -1
		}
		return 1
	})
	return p.fewest(bin, load, list), true
}

// goesFirst says that a is to leave a bin before b: of the higher load, only to start yet, worth less. The
// load comes before the worth, so that whether a bin can be bettered never depends on worths: else packing
// again, with the worths of new instances, might move what has just been moved.
func (p *packer) goesFirst(a, b chip) bool {
	return cmp.Or(p.level(b.load, p.count[b.load]).compare(p.level(a.load, p.count[a.load])),
		cmp.Compare(b.load, a.load), cmp.Compare(p.isHeld(a), p.isHeld(b)), p.worthOf(a).compare(p.worthOf(b)),
		cmp.Compare(b.held, a.held)) < 0
}

// fewest takes from the list until the load fits, then puts back what need not have gone.
func (p *packer) fewest(bin, load int, list []int) (v victims) {
	r, n := p.free(bin), 0
	for !p.fits(r, load) {
		r = p.with(r, bin, p.chips[bin][list[n]].load, 1)
		n++
	}
	for k := n - 1; k >= 0; k-- {
		c := p.chips[bin][list[k]]
		if less := p.with(r, bin, c.load, -1); k < n-1 && p.fits(less, load) {
			r = less
			continue
		}
		v.chips = append(v.chips, list[k])
		v.stops += p.isHeld(c)
		v.work.Work += p.worthOf(c).Work
		v.work.Tie += p.worthOf(c).Tie
	}
	slices.SortFunc(v.chips, func(x, y int) int { return y - x })
	return v
}

func (p *packer) isHeld(c chip) int {
	if c.held >= 0 {
		return 1
	}
	return 0
}

func (p *packer) worthOf(c chip) Worth {
	if c.held < 0 {
		return Worth{}
	}
	return p.loads[c.load].Held[c.held].Worth
}

// remove takes chips, given by descending place, out of a bin.
func (p *packer) remove(bin int, places []int) (taken []chip) {
	for _, at := range places {
		taken = append(taken, p.take(bin, at))
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
			i := queue.list[0]
			if b := p.bestFit(i, p.open(i)); b >= 0 && p.count[i] < p.most[i] {
				p.put(b, chip{load: i, held: -1})
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
	best, bestAt, bestTo := -1, 0, 0
	var least victims
	to := make(map[fitKey][2]int)
	for b := range p.open(load) {
		p.effort -= len(p.chips[b])
		for at, c := range p.chips[b] {
			if c.load == load || c.primary && p.lacking || !p.fits(p.with(p.free(b), b, c.load, 1), load) {
				continue
			}
			v := victims{chips: []int{at}, stops: p.isHeld(c), work: p.worthOf(c)}
			if best >= 0 && !v.cheaper(least) {
				continue
			}
			if other := p.otherFit(to, c, b); other >= 0 && !p.delays(c, b, other) {
				best, bestAt, bestTo, least = b, at, other, v
			}
		}
	}
	if best < 0 {
		return false
	}
	c := p.take(best, bestAt)
	p.put(bestTo, chip{load: c.load, held: -1, primary: c.primary})
	p.put(best, chip{load: load, held: -1})
	return true
}

// delays says that a primary which may start at once in its bin would wait for an end in the other.
func (p *packer) delays(c chip, bin, other int) bool {
	return c.primary && p.vacant[bin] >= 0 && !p.startsNow(c.load, other)
}

// fitKey is what the best bins for a chip depend on.
type fitKey struct {
	load, rank int
	primary    bool
}

// otherFit is the best bin for a chip but the one it is in; to remembers the best two, which are the same
// for all chips alike while nothing moves.
func (p *packer) otherFit(to map[fitKey][2]int, c chip, bin int) int {
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

// improveByTaking takes instances of higher loads out of a bin for this one and whoever else then fits.
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
	for b := range p.open(load) {
		if p.effort < 0 {
			break
		}
		for _, only := range p.donors(b, load, stays) {
			v, ok := p.displace(b, load, func(c chip) bool { return c.load != load && !stays(c.load) && (only < 0 || c.load == only) })
			if ok && (best < 0 || v.cheaper(least)) && p.gains(b, load, v.chips, false) {
				best, least = b, v
			}
		}
	}
	return best >= 0 && p.gains(best, load, least.chips, true)
}

func (p *packer) allLoads() []int {
	all := make([]int, len(p.loads))
	for i := range all {
		all[i] = i
	}
	return all
}

// donors are the loads of a bin that are high enough to give, and -1 for all of them together.
func (p *packer) donors(bin, load int, stays func(int) bool) (list []int) {
	for _, c := range p.chips[bin] {
		if !c.primary && c.load != load && !stays(c.load) && !slices.Contains(list, c.load) {
			list = append(list, c.load)
		}
	}
	if len(list) > 1 {
		list = append(list, -1)
	}
	return list
}

// gains tries a bin without some chips and with one of the load, filled up by others, lowest first: does
// that make the sorted levels larger? If it is to keep and does, the bin stays so.
func (p *packer) gains(bin, load int, places []int, keep bool) bool {
	before := slices.Clone(p.count)
	taken := p.remove(bin, places)
	p.put(bin, chip{load: load, held: -1})
	added := 1
	for i := p.lowestFor(bin, taken); i >= 0; i = p.lowestFor(bin, taken) {
		p.put(bin, chip{load: i, held: -1})
		added++
	}
	better := p.larger(before)
	if better && keep {
		return true
	}
	for range added {
		p.take(bin, len(p.chips[bin])-1)
	}
	for k := len(taken) - 1; k >= 0; k-- {
		p.putAt(bin, places[k], taken[k])
	}
	return better
}

// putAt undoes a take.
func (p *packer) putAt(bin, at int, c chip) {
	p.put(bin, c)
	last := len(p.chips[bin]) - 1
	copy(p.chips[bin][at+1:], p.chips[bin][at:last])
	p.chips[bin][at] = c
}

// lowestFor is the lowest load that may rise in a bin and has not just left it; -1 if there is none.
func (p *packer) lowestFor(bin int, left []chip) int {
	best := -1
	for i := range p.loads {
		p.effort--
		if p.count[i] >= p.most[i] || !p.fits(p.free(bin), i) || best >= 0 && p.level(i, p.count[i]).compare(p.level(best, p.count[best])) >= 0 ||
			slices.ContainsFunc(left, func(c chip) bool { return c.load == i }) || !p.mayStart(bin, i) {
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
