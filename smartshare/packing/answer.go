package packing

import "slices"

// Packing is the answer, by load.
type Packing struct {
	Grant     []int   // primaries granted of Need
	Target    []int   // secondaries, floor included
	Stop      [][]int // indices into Held
	Primaries [][]int // bins of the primaries to start
	Starts    [][]int // bins of the secondaries to start
}

// packing writes the answer down.
func (p *packer) packing() Packing {
	a := Packing{Grant: p.grant, Target: p.count, Primaries: make([][]int, len(p.loads))}
	a.Stop, a.Starts = p.changes()
	for b := range p.placed {
		for _, c := range p.placed[b] {
			if c.primary {
				a.Primaries[c.load] = append(a.Primaries[c.load], b)
			}
		}
	}
	return a
}

// changes are, by load, the running secondaries that are to stop, as indices into Held, and the bins of those that are to start.
func (p *packer) changes() (stop, starts [][]int) {
	n := len(p.loads)
	stop, starts = make([][]int, n), make([][]int, n)
	stays := make([][]bool, n)
	for i := range p.loads {
		stays[i] = make([]bool, len(p.loads[i].Held))
	}
	for b := range p.placed {
		for _, c := range p.placed[b] {
			switch {
			case c.held >= 0:
				stays[c.load][c.held] = true
			case !c.primary:
				starts[c.load] = append(starts[c.load], b)
			}
		}
	}
	for i := range stays {
		for k, stay := range stays[i] {
			if !stay {
				stop[i] = append(stop[i], k)
			}
		}
	}
	return stop, starts
}

// keep lets running secondaries stay, those worth most first, that were to stop and have room where they are: instead of others of their
// load that are to start, or in addition, as long as the room is what no load could rise into. A load may have lost them to another one
// that then went elsewhere. It says whether any stays.
func (p *packer) keep() bool {
	stop, starts := p.changes()
	instead, besides := false, false
	for i := range p.loads {
		for _, k := range slices.Backward(stop[i]) { // who is worth most comes last
			c, bin := placed{load: i, held: k}, p.loads[i].Held[k].Bin
			at := slices.Index(starts[i], bin)
			switch {
			case !p.hasRoom(bin, c, at >= 0):
				continue
			case len(starts[i]) > 0:
				at = max(0, at)
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

// hasRoom says whether there is room in a bin for what runs there, also instead of a start of its load.
func (p *packer) hasRoom(bin int, c placed, instead bool) bool {
	l, r, memory := &p.loads[c.load], p.free(bin), p.memoryOf(bin, c)
	if instead {
		r = p.without(r, bin, placed{load: c.load, held: -1})
	}
	return r.slots >= l.Slots && (r.memory >= memory || memory == 0) && suffices(r.stock, l.Takes)
}

// takeStart takes a secondary that is to start out of a bin.
func (p *packer) takeStart(bin, load int) {
	p.take(bin, slices.IndexFunc(p.placed[bin], func(c placed) bool { return c.load == load && c.held < 0 && !c.primary }))
}
