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
	n := len(p.loads)
	a := Packing{Grant: p.grant, Target: p.count, Stop: make([][]int, n), Primaries: make([][]int, n), Starts: make([][]int, n)}
	stays := make([][]bool, n)
	for i := range p.loads {
		stays[i] = make([]bool, len(p.loads[i].Held))
	}
	for b := range p.placed {
		for _, c := range p.placed[b] {
			switch {
			case c.held >= 0:
				stays[c.load][c.held] = true
			case c.primary:
				a.Primaries[c.load] = append(a.Primaries[c.load], b)
			default:
				a.Starts[c.load] = append(a.Starts[c.load], b)
			}
		}
	}
	for i := range stays {
		for k, stay := range stays[i] {
			if !stay {
				a.Stop[i] = append(a.Stop[i], k)
			}
		}
		a.Starts[i] = slices.DeleteFunc(a.Starts[i], func(bin int) bool { return p.stayInstead(i, bin, &a.Stop[i]) })
	}
	return a
}

// stayInstead lets one of those that were to stop stay in the bin in place of a start of the same load there, the one worth most. A
// load may have lost it to another one that then had to give the room back.
func (p *packer) stayInstead(load, bin int, stop *[]int) bool {
	for n, k := range slices.Backward(*stop) {
		held := &p.loads[load].Held[k]
		more := p.memoryOf(bin, placed{load: load, held: k}) - p.memoryOf(bin, placed{load: load, held: -1})
		if held.Bin == bin && more <= p.bins[bin].Memory {
			p.bins[bin].Memory -= more
			*stop = slices.Delete(*stop, n, n+1)
			return true
		}
	}
	return false
}
