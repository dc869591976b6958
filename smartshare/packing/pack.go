package packing

import (
	"cmp"
	"slices"

	"qb/smartshare"
)

// Bin is a place of its own with what is left in it beside pinned instances.
type Bin struct {
	Slots        int
	Memory       int64   // math.MaxInt64: unlimited
	Stock        []int64 // of further resources, in the order of Load.Takes
	Closed       bool    // takes nothing new
	Ending       int     // of the slots: still taken by what is on its way out
	EndingMemory int64   // bytes that ending instances hold
}

// Load is what one job may have of the bins. Pinned instances are in no number but Floor and take no room.
type Load struct {
	Owner  int     // above 0, small: the surplus is divided by owner first; all loads have one or none has
	Slots  int     // of one instance, at least one
	Memory int64   // of one instance
	Takes  []int64 // of the further resources of its bin; nil: none
	Wants  []int64 // of what all bins share; nil: nothing
	Bins   []int   // where it may start; nil: everywhere
	Need   int     // primaries still to be placed
	Tiers  []BinTier
	Floor  int     // secondaries pinned: they count towards the level
	Cap    int     // most secondaries, if all of Need is granted; a cap below the floor only stops growth
	Unit   int     // how much one instance raises the level: its slots, or 1
	Weight float64 // of its surplus; above zero
	Held   []Piece
}

// BinTier is a rank that a load has in some bins: primaries of all loads are placed in a better rank before
// any is in a worse one. A load without tiers has rank 0 wherever it may start.
type BinTier struct {
	Rank int
	Bins []int
}

// Piece is a running secondary that may be stopped.
type Piece struct {
	Bin       int
	Memory    int64 // that goes free with it
	Draining  bool  // it goes when its item has ended, by the last packing
	KeepValue smartshare.KeepValue
}

func (p *Piece) stays() int {
	if p.Draining {
		return 0
	}
	return 1
}

// packEffort bounds the work of one packing, counted in looks at a bin.
const packEffort = 1_500_000

// Pack divides bins among instances of different shapes, nearly exactly: primaries in order, each where it fits best,
// else where it displaces the fewest secondaries; then from what runs it raises the lowest level wherever there is
// room, and takes and moves instances as long as that makes the sorted levels lexicographically larger. What it cannot
// better it leaves alone, so packing its own result does nothing. Loads come in dispatch order; serve is the order of
// primaries within a rank, nil the same; bins come in the order that decides between equals. Scratch counts the steps;
// nil counts none. Shared is what all bins have together of such as licences, in the order of Load.Wants; the first so
// many of them are limits: where more runs than they allow, secondaries stop.
func Pack(scratch *smartshare.Scratch, bins []Bin, shared []int64, limits int, loads []Load, serve []int) Packing {
	p := newPacker(scratch, bins, shared, loads)
	p.limits = limits
	if p.serve = serve; serve == nil {
		p.serve = p.allLoads()
	}
	p.grantPrimaries()
	p.dropBeyondCaps()
	p.relieve()
	p.obey()
	p.cancelNeedlessMoves()
	return p.packing()
}

// packer is the state of one packing: every instance that is not pinned is a placed instance in a bin.
type packer struct {
	bins   []Bin   // with what is free now
	shared []int64 // what is left of it
	limits int     // of shared: the first so many
	loads  []Load
	serve  []int      // the loads in the order in which primaries are served within a rank
	vacant []vacancy  // by bin: where nothing runs and no start is to be made at once
	idle   []vacancy  // by bin: where nothing runs
	scant  []bool     // by bin: memory may decide there
	placed [][]placed // by bin
	count  []int      // by load: secondaries, floor included
	grant  []int
	most   []int // by load: the cap that acts
	effort int

	scratch *smartshare.Scratch // counts the steps

	ownerUnits  []int     // by owner: how high his loads stand together
	ownerWeight []float64 // by owner: the heaviest of his loads'

	lacking bool // some load found no room for a primary; then none moves any more
}

// vacancy is room that need not be waited for.
type vacancy struct {
	slots  int
	memory int64
}

// placed is an instance in a bin; held is its index in the load's Held, or -1 if it is to start; now says that it can
// do so before anything has ended.
type placed struct {
	load, held   int
	primary, now bool
}

func newPacker(scratch *smartshare.Scratch, bins []Bin, shared []int64, loads []Load) *packer {
	scratch.Spend(len(bins) + len(loads))
	p := &packer{scratch: scratch, bins: slices.Clone(bins), shared: slices.Clone(shared),
		vacant: make([]vacancy, len(bins)), loads: loads, placed: make([][]placed, len(bins)),
		count: make([]int, len(loads)), grant: make([]int, len(loads)), most: make([]int, len(loads)), effort: packEffort}
	for b := range p.bins {
		p.bins[b].Stock = slices.Clone(bins[b].Stock)
	}
	p.gatherOwners()
	for i := range loads {
		p.raise(i, loads[i].Floor)
		for k := range loads[i].Held {
			p.put(loads[i].Held[k].Bin, placed{load: i, held: k})
		}
	}
	for b := range p.bins {
		p.vacant[b] = vacancy{p.bins[b].Slots - p.bins[b].Ending, p.bins[b].Memory - p.bins[b].EndingMemory}
	}
	p.idle = slices.Clone(p.vacant)
	p.findScant()
	return p
}

// findScant finds the bins that might not hold what runs there beside the neediest instance in every slot.
func (p *packer) findScant() {
	p.scant = make([]bool, len(p.bins))
	most := int64(0)
	for i := range p.loads {
		most = max(most, p.loads[i].Memory)
	}
	for b := range p.bins {
		left, slots := float64(p.bins[b].Memory), p.bins[b].Slots
		for _, c := range p.placed[b] {
			slots += p.loads[c.load].Slots
			left += float64(min(most, p.memoryOf(b, c)))
		}
		p.scant[b] = left < float64(most)*float64(slots)
	}
}

// put and take move a placed instance in and out of a bin.
func (p *packer) put(bin int, c placed) {
	p.scratch.Spend(1)
	if c.now = c.held < 0 && p.startsNow(c.load, bin); c.now {
		p.occupy(bin, c, 1)
	}
	p.placed[bin] = append(p.placed[bin], c)
	p.bins[bin].Slots -= p.loads[c.load].Slots
	p.bins[bin].Memory -= p.memoryOf(bin, c)
	p.draw(bin, c.load, 1)
	if !c.primary {
		p.raise(c.load, 1)
	}
}

func (p *packer) take(bin, at int) placed {
	p.scratch.Spend(len(p.placed[bin]))
	c := p.placed[bin][at]
	p.placed[bin] = slices.Delete(p.placed[bin], at, at+1)
	p.bins[bin].Slots += p.loads[c.load].Slots
	if c.now {
		p.occupy(bin, c, -1)
	}
	p.bins[bin].Memory += p.memoryOf(bin, c)
	p.draw(bin, c.load, -1)
	if !c.primary {
		p.raise(c.load, -1)
	}
	return c
}

// memoryOf is what a placed instance takes of a bin's memory: nothing where that is unlimited.
func (p *packer) memoryOf(bin int, c placed) int64 {
	if p.bins[bin].Memory > unlimitedMemory {
		return 0
	}
	return p.promised(c)
}

// promised is what goes free with a placed instance: what it was promised if it runs, else what its load asks for.
func (p *packer) promised(c placed) int64 {
	if c.held >= 0 {
		return p.loads[c.load].Held[c.held].Memory
	}
	return p.loads[c.load].Memory
}

// unlimitedMemory is above what any bin has that has a limit.
const unlimitedMemory = 1 << 62

// open yields the bins in which a load may start.
func (p *packer) open(load int) func(yield func(bin int) bool) {
	return func(yield func(int) bool) {
		if p.loads[load].Bins == nil {
			for b := range p.bins {
				if !p.bins[b].Closed && !yield(b) {
					return
				}
			}
			return
		}
		for _, b := range p.loads[load].Bins {
			if !p.bins[b].Closed && !yield(b) {
				return
			}
		}
	}
}

// bestFit is the bin of those given that has least left when the load is in it, one where it may start at once
// before one where something must end first; -1 if it fits nowhere.
func (p *packer) bestFit(load int, in func(yield func(bin int) bool)) int {
	best := -1
	if !p.provided(load) {
		return best
	}
	for b := range in {
		p.look(1)
		if p.fits(p.free(b), load) && (best < 0 || p.better(load, b, best)) {
			best = b
		}
	}
	return best
}

// look counts looks at a bin.
func (p *packer) look(times int) {
	p.effort -= times
	p.scratch.Spend(times)
}

// but leaves one bin out.
func but(not int, in func(yield func(bin int) bool)) func(yield func(bin int) bool) {
	return func(yield func(int) bool) {
		for b := range in {
			if b != not && !yield(b) {
				return
			}
		}
	}
}

func (p *packer) better(load, a, b int) bool {
	if now := p.startsNow(load, a); now != p.startsNow(load, b) {
		return now
	}
	return p.tighter(a, b)
}

// startsNow says whether one more instance of the load need not wait for an end in the bin.
func (p *packer) startsNow(load, bin int) bool {
	v, l := &p.vacant[bin], &p.loads[load]
	return v.slots >= l.Slots && (v.memory >= l.Memory || l.Memory == 0)
}

func (p *packer) occupy(bin int, c placed, n int) {
	p.vacant[bin].slots -= n * p.loads[c.load].Slots
	p.vacant[bin].memory -= int64(n) * p.memoryOf(bin, c)
}

func (p *packer) tighter(a, b int) bool {
	x, y := &p.bins[a], &p.bins[b]
	return cmp.Or(cmp.Compare(x.Slots, y.Slots), cmp.Compare(x.Memory, y.Memory), cmp.Compare(a, b)) < 0
}

// grantPrimaries serves rank after rank, in each one load after another. Who does not get all its
// primaries gets no surplus.
func (p *packer) grantPrimaries() {
	ranks := []int{0}
	for i := range p.loads {
		for _, t := range p.loads[i].Tiers {
			if at, known := slices.BinarySearch(ranks, t.Rank); !known {
				ranks = slices.Insert(ranks, at, t.Rank)
			}
		}
	}
	for _, rank := range ranks {
		for p.grantRank(rank) {
		}
	}
	p.lacking = false
	for i := range p.loads {
		p.most[i] = max(p.loads[i].Cap, p.loads[i].Floor)
		if p.grant[i] < p.loads[i].Need {
			p.most[i] = p.loads[i].Floor
			p.lacking = true
		}
	}
}

// grantRank places primaries in one rank. It ends early, true, when others had to move for one: that may
// have made room for a load that had found none.
func (p *packer) grantRank(rank int) (moved bool) {
	for _, i := range p.serve {
		for p.grant[i] < p.loads[i].Need {
			if !p.placePrimary(i, rank) {
				if !p.movePrimary(i, rank) {
					break
				}
				moved = true
			}
			p.grant[i]++
			if moved {
				return true
			}
		}
	}
	return false
}

// ranked yields the bins in which a load has a rank.
func (p *packer) ranked(load, rank int) func(yield func(bin int) bool) {
	if p.loads[load].Tiers == nil && rank == 0 {
		return p.open(load)
	}
	return func(yield func(int) bool) {
		for _, t := range p.loads[load].Tiers {
			for _, b := range t.Bins {
				if t.Rank == rank && !p.bins[b].Closed && !yield(b) {
					return
				}
			}
		}
	}
}

// rankIn is the rank of a load in a bin.
func (p *packer) rankIn(load, bin int) int {
	for _, t := range p.loads[load].Tiers {
		if slices.Contains(t.Bins, bin) {
			return t.Rank
		}
	}
	return 0
}

func (p *packer) placePrimary(load, rank int) bool {
	if b := p.bestFit(load, p.ranked(load, rank)); b >= 0 {
		p.put(b, placed{load: load, held: -1, primary: true})
		return true
	}
	best, any := -1, func(placed) bool { return true }
	givers := p.givers(load, any)
	var least victims
	for b := range p.ranked(load, rank) {
		if v, ok := p.displace(b, load, givers, any); ok && (best < 0 || v.cheaper(least)) {
			best, least = b, v
		}
	}
	if best < 0 {
		return false
	}
	p.remove(least.positions)
	p.put(best, placed{load: load, held: -1, primary: true})
	return true
}

// movePrimary makes room for a primary by starting another one elsewhere, where its rank is the same.
func (p *packer) movePrimary(load, rank int) bool {
	if !p.provided(load) {
		return false
	}
	for b := range p.ranked(load, rank) {
		p.scratch.Spend(len(p.placed[b]))
		for at, c := range p.placed[b] {
			if !c.primary || !p.fits(p.without(p.hard(b), b, c), load) {
				continue
			}
			if other := p.elsewhere(c.load, b); other >= 0 {
				p.take(b, at)
				p.force(b, load)
				p.force(other, c.load)
				return true
			}
		}
	}
	return false
}

// elsewhere is another bin of the same rank that a primary fits in, free room before that of secondaries; -1 if
// there is none.
func (p *packer) elsewhere(load, bin int) int {
	others := but(bin, p.ranked(load, p.rankIn(load, bin)))
	if free := p.bestFit(load, others); free >= 0 {
		return free
	}
	for other := range others {
		if p.fits(p.hard(other), load) {
			return other
		}
	}
	return -1
}

// force puts a primary where it would fit without secondaries.
func (p *packer) force(bin, load int) {
	if v, ok := p.displace(bin, load, nil, func(placed) bool { return true }); ok {
		p.remove(v.positions)
	}
	p.put(bin, placed{load: load, held: -1, primary: true})
}

// hard is what is free in a bin if all secondaries go.
func (p *packer) hard(bin int) capacity {
	p.scratch.Spend(len(p.placed[bin]))
	r := p.free(bin)
	for _, c := range p.placed[bin] {
		if !c.primary {
			r = p.without(r, bin, c)
		}
	}
	return r
}

// dropBeyondCaps stops what is more than a load may have, least worth first. A draining instance goes before others: a
// start in its place may be running already, and the end of another would make room in another bin than where it is
// needed.
func (p *packer) dropBeyondCaps() {
	for i := range p.loads {
		if p.count[i] <= p.most[i] {
			continue
		}
		var running []int
		for b := range p.placed {
			p.scratch.Spend(len(p.placed[b]))
			for _, c := range p.placed[b] {
				if c.load == i && c.held >= 0 {
					running = append(running, c.held)
				}
			}
		}
		held := p.loads[i].Held
		slices.SortFunc(running, func(x, y int) int {
			return cmp.Or(held[x].stays()-held[y].stays(), held[x].KeepValue.Compare(held[y].KeepValue))
		})
		for _, k := range running[:p.count[i]-p.most[i]] {
			at := slices.Index(p.placed[held[k].Bin], placed{load: i, held: k})
			p.take(held[k].Bin, at)
		}
	}
}

// relieve stops secondaries in bins that have come to hold more than their slots.
func (p *packer) relieve() {
	for b := range p.bins {
		for p.bins[b].Slots < 0 {
			v, ok := p.highest(b)
			if !ok {
				break
			}
			p.take(b, v)
		}
	}
}

// highest is the place in a bin of the secondary that is highest, the cheapest of such; false if
// there is none.
func (p *packer) highest(bin int) (place int, ok bool) {
	p.scratch.Spend(len(p.placed[bin]))
	for at, c := range p.placed[bin] {
		if !c.primary && (!ok || p.goesFirst(c, p.placed[bin][place])) {
			place, ok = at, true
		}
	}
	return place, ok
}
