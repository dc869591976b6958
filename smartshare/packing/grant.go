package packing

import "slices"

// grantPrimaries serves rank after rank, in each one load after another; whoever lacks some then has them where others
// can go to another rank instead. Who does not get all its primaries gets no surplus.
func (p *packer) grantPrimaries() {
	ranks := []int{0}
	for i := range p.loads {
		for _, t := range p.loads[i].Tiers {
			if at, known := slices.BinarySearch(ranks, t.Rank); !known {
				ranks = slices.Insert(ranks, at, t.Rank)
			}
		}
	}
	if len(ranks) > 1 {
		p.grantNow(ranks)
	}
	for _, p.across = range []bool{false, true} {
		for _, rank := range ranks {
			for p.grantRank(rank) {
			}
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

// grantNow places primaries that need not wait for an end: no rank is worth a wait.
func (p *packer) grantNow(ranks []int) {
	for _, rank := range ranks {
		for _, i := range p.serve {
			for p.grant[i] < p.loads[i].Need {
				b := p.bestFit(i, p.ranked(i, rank))
				if b < 0 || !p.startsNow(i, b) {
					break
				}
				p.put(b, chip{load: i, held: -1, primary: true})
				p.grant[i]++
			}
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
		p.put(b, chip{load: load, held: -1, primary: true})
		return true
	}
	best, any := -1, func(chip) bool { return true }
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
	p.remove(least.spots)
	p.put(best, chip{load: load, held: -1, primary: true})
	return true
}

// movePrimary makes room for a primary by starting another one elsewhere, where its rank is the same or, across ranks,
// wherever it may.
func (p *packer) movePrimary(load, rank int) bool {
	if !p.provided(load) {
		return false
	}
	for b := range p.ranked(load, rank) {
		for at, c := range p.chips[b] {
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

// elsewhere is another bin that a primary fits in, free room before that of secondaries; -1 if there is none.
func (p *packer) elsewhere(load, bin int) int {
	in := p.ranked(load, p.rankIn(load, bin))
	if p.across {
		in = p.open(load)
	}
	others := but(bin, in)
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

// force puts a primary where it fits but for secondaries.
func (p *packer) force(bin, load int) {
	if v, ok := p.displace(bin, load, nil, func(chip) bool { return true }); ok {
		p.remove(v.spots)
	}
	p.put(bin, chip{load: load, held: -1, primary: true})
}

// hard is what is free in a bin if all secondaries go.
func (p *packer) hard(bin int) room {
	r := p.free(bin)
	for _, c := range p.chips[bin] {
		if !c.primary {
			r = p.without(r, bin, c)
		}
	}
	return r
}
