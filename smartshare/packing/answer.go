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
		a.Starts[i] = p.stayInstead(i, a.Starts[i], stays[i])
		for k, stay := range stays[i] {
			if !stay {
				a.Stop[i] = append(a.Stop[i], k)
			}
		}
	}
	return a
}

// stayInstead lets running secondaries of a load stay where others of it were to start in their bin, those worth most first, and gives
// the starts that are left. A load may have lost them to another one that then had to give the room back.
func (p *packer) stayInstead(load int, starts []int, stays []bool) []int {
	if len(starts) == 0 {
		return starts
	}
	going := map[int][]int{} // by bin; who is worth most comes last
	for k, stay := range stays {
		if bin := p.loads[load].Held[k].Bin; !stay {
			going[bin] = append(going[bin], k)
		}
	}
	return slices.DeleteFunc(starts, func(bin int) bool {
		for n, k := range slices.Backward(going[bin]) {
			more := p.memoryOf(bin, placed{load: load, held: k}) - p.memoryOf(bin, placed{load: load, held: -1})
			if more <= p.bins[bin].Memory {
				p.bins[bin].Memory -= more
				stays[k], going[bin] = true, slices.Delete(going[bin], n, n+1)
				return true
			}
		}
		return false
	})
}
