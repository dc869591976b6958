package packing

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

// changes are, by load, the running secondaries that are to stop, as indices into Held, and the bins of the ones that
// are to start.
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
