package packing

import "slices"

// room is free space of a bin, as a value to reckon with.
type capacity struct {
	slots  int
	memory int64
	stock  []int64
}

func (p *packer) free(bin int) capacity {
	return capacity{p.bins[bin].Slots, p.bins[bin].Memory, p.bins[bin].Stock}
}

// fits says whether a new instance of a load fits into a room.
func (p *packer) fits(r capacity, load int) bool { return p.fitsWith(r, load, p.loads[load].Memory) }

// fitsWith: what takes nothing of a thing is not kept out by a lack of it.
func (p *packer) fitsWith(r capacity, load int, memory int64) bool {
	l := &p.loads[load]
	return r.slots >= l.Slots && (r.memory >= memory || memory == 0) && suffices(r.stock, l.Takes)
}

// without is the room of a bin once a placed instance has gone.
func (p *packer) without(r capacity, bin int, c placed) capacity {
	l := &p.loads[c.load]
	r.slots, r.memory = r.slots+l.Slots, r.memory+p.memoryOf(bin, c)
	if l.Takes != nil {
		r.stock = slices.Clone(r.stock)
		for k, each := range l.Takes {
			r.stock[k] += each
		}
	}
	return r
}

// draw takes n instances' part of what is neither slots nor memory.
func (p *packer) draw(bin, load, n int) {
	for k, each := range p.loads[load].Takes {
		p.bins[bin].Stock[k] -= int64(n) * each
	}
	for k, each := range p.loads[load].Wants {
		p.shared[k] -= int64(n) * each
	}
}

func suffices(stock, takes []int64) bool {
	for k, each := range takes {
		if each > 0 && stock[k] < each {
			return false
		}
	}
	return true
}

// provided says that enough is left, of what all bins share, for one more instance of the load.
func (p *packer) provided(load int) bool { return suffices(p.shared, p.loads[load].Wants) }

// gives is 1 for a placed instance that has some of what the load lacks of what all bins share.
func (p *packer) gives(load int, s position) int {
	wants := p.loads[p.at(s).load].Wants
	for k, each := range p.loads[load].Wants {
		if each > p.shared[k] && wants != nil && wants[k] > 0 {
			return 1
		}
	}
	return 0
}

// givers lists the secondaries, of the ones that may go, that have some of what the load lacks of what all bins
// share, first what is to go first; nil if it lacks nothing.
func (p *packer) givers(load int, may func(placed) bool) (list []position) {
	if p.provided(load) {
		return nil
	}
	for b := range p.placed {
		p.look(len(p.placed[b]))
		for at, c := range p.placed[b] {
			if s := (position{b, at}); !c.primary && may(c) && p.gives(load, s) > 0 {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, p.comparePositions)
	return list
}

// provide adds to the victims what givers must go beside for the load; false if all of them do not suffice.
func (p *packer) provide(v *victims, load int, givers []position) bool {
	p.scratch.Spend(len(givers) * (len(v.positions) + 1))
	here := slices.Clone(v.positions)
	enough := func(positions []position) bool {
		left := slices.Clone(p.shared)
		for _, list := range [][]position{here, positions} {
			for _, s := range list {
				for k, each := range p.loads[p.at(s).load].Wants {
					left[k] += each
				}
			}
		}
		return suffices(left, p.loads[load].Wants)
	}
	others := slices.DeleteFunc(slices.Clone(givers), func(s position) bool { return slices.Contains(here, s) })
	p.fewest(v, others, enough)
	return enough(v.positions[len(here):])
}

// obey stops secondaries where more runs than a limit allows: from the highest level down, cheapest first.
func (p *packer) obey() {
	for k := range p.limits {
		for p.shared[k] < 0 {
			best, found := position{}, false
			for b := range p.placed {
				p.scratch.Spend(len(p.placed[b]))
				for at, c := range p.placed[b] {
					wants := p.loads[c.load].Wants
					if s := (position{b, at}); !c.primary && wants != nil && wants[k] > 0 &&
						(!found || p.comparePositions(s, best) < 0) {
						best, found = s, true
					}
				}
			}
			if !found {
				break
			}
			p.take(best.bin, best.at)
		}
	}
}
