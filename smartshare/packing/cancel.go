package packing

import (
	"cmp"
	"slices"
)

// cancelRounds bounds how often what stays, or starts elsewhere, leaves room that is divided again.
const cancelRounds = 8

// cancelNeedlessMoves raises what can rise, then keeps what need not stop and moves starts that would wait for an end
// to bins that have room now that no other load is to have, until neither changes anything. What a primary leaves so
// may be room for another that had found none.
func (p *packer) cancelNeedlessMoves() {
	p.rise()
	for range cancelRounds {
		kept, moved := p.keep(), p.startSooner()
		if !kept && !moved {
			break
		}
		if p.lacking {
			p.grantPrimaries()
		}
		p.rise()
	}
}

// keep lets running secondaries stay, those worth most first, that were to stop and have room where they are: instead
// of others of their load that are to start, else in addition if the load may have more, but only in room that no load
// could rise into, not in what a start has just left. A load may have lost them to another load that then went
// elsewhere. It says whether any stays.
func (p *packer) keep() bool {
	stop, starts := p.changes()
	instead, besides := false, false
	for i := range p.loads {
		for _, k := range slices.Backward(stop[i]) { // the piece with the highest keep value comes last
			c, bin := placed{load: i, held: k}, p.loads[i].Held[k].Bin
			at, here := slices.BinarySearch(starts[i], bin)
			switch {
			case !p.hasRoom(bin, c, here):
				continue
			case len(starts[i]) > 0:
				if !here {
					at = 0
				}
				p.takeStart(starts[i][at], i)
				starts[i], instead = slices.Delete(starts[i], at, at+1), true
			case instead || p.count[i] >= p.most[i] || !p.provided(i):
				continue
			default:
				besides = true
			}
			p.put(bin, c)
		}
	}
	return instead || besides
}

// hasRoom says whether there is room in a bin for what runs there, or is once a start of its load has left it.
func (p *packer) hasRoom(bin int, c placed, instead bool) bool {
	r := p.free(bin)
	if instead {
		r = p.without(r, bin, placed{load: c.load, held: -1})
	}
	return p.fitsWith(r, c.load, p.memoryOf(bin, c))
}

// takeStart takes a secondary that is to start out of a bin.
func (p *packer) takeStart(bin, load int) {
	p.take(bin, slices.IndexFunc(p.placed[bin], func(c placed) bool { return c.load == load && c.held < 0 && !c.primary }))
}

// startSooner moves starts that would wait for an end, each within its rank; it says whether any moved.
func (p *packer) startSooner() (moved bool) {
	for _, s := range p.lineUp() {
		if p.effort < 0 {
			break
		}
		c := placed{load: s.load, held: -1, primary: s.primary}
		to := p.vacantFit(c, s.bin)
		if to < 0 {
			continue
		}
		if at := slices.Index(p.placed[s.bin], c); at >= 0 {
			p.take(s.bin, at)
			p.put(to, c)
			moved = true
		}
	}
	return moved
}

// starter is a start with its turn among the ones that are to be made.
type starter struct {
	load, bin int
	primary   bool
	level     height
}

// lineUp finds again which starts need not wait for an end, in the order in which they are made: primaries, then
// secondaries, of the lowest owner first and of his loads the lowest. That is the order of the starts in the plan
// (startSequence in supervisor/share/planner); in another one it would miss some that wait. It lists the ones that do.
func (p *packer) lineUp() (waiting []starter) {
	var line []starter
	nth := slices.Clone(p.count)
	for b := len(p.placed) - 1; b >= 0; b-- {
		p.vacant[b] = p.idle[b]
		for at := range p.placed[b] {
			c := &p.placed[b][at]
			if c.held >= 0 {
				continue
			}
			c.now = false
			s := starter{load: c.load, bin: b, primary: c.primary}
			if !c.primary {
				s.level.own = float64(nth[c.load]*p.loads[c.load].Unit) / p.loads[c.load].Weight
				nth[c.load]--
			}
			line = append(line, s)
		}
	}
	slices.SortFunc(line, func(x, y starter) int { // primaries have the level 0, and so come first
		return cmp.Or(cmp.Compare(x.level.own, y.level.own), cmp.Compare(x.load, y.load), cmp.Compare(x.bin, y.bin))
	})
	p.levelOwners(line)
	slices.SortStableFunc(line, func(x, y starter) int { return cmp.Compare(x.level.owner, y.level.owner) })
	for _, s := range line {
		if !p.startsNow(s.load, s.bin) {
			waiting = append(waiting, s)
			continue
		}
		p.scratch.Spend(len(p.placed[s.bin]))
		c := placed{load: s.load, held: -1, primary: s.primary}
		at := slices.Index(p.placed[s.bin], c)
		p.placed[s.bin][at].now = true
		p.occupy(s.bin, c, 1)
	}
	return waiting
}

// levelOwners gives each secondary the level that its owner reaches with it, in the order of the line.
func (p *packer) levelOwners(line []starter) {
	units := slices.Clone(p.ownerUnits)
	for _, s := range line {
		if !s.primary {
			units[p.loads[s.load].Owner] -= p.loads[s.load].Unit
		}
	}
	for n := range line {
		l := &p.loads[line[n].load]
		if !line[n].primary && l.Owner > 0 {
			units[l.Owner] += l.Unit
			line[n].level.owner = float64(units[l.Owner]) / p.ownerWeight[l.Owner]
		}
	}
}

// vacantFit is the bin where a start of another fits best and need not wait; -1 if there is none.
func (p *packer) vacantFit(c placed, bin int) int {
	in := p.open(c.load)
	if c.primary {
		in = p.ranked(c.load, p.rankIn(c.load, bin))
	}
	best := -1
	for b := range in {
		p.look(1)
		if b != bin && p.startsNow(c.load, b) && p.fits(p.free(b), c.load) && (best < 0 || p.tighter(b, best)) {
			best = b
		}
	}
	return best
}
