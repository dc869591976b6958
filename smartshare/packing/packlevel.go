package packing

import (
	"cmp"
	"slices"
)

// height is how high a load is among the loads, seen from its next instance: its owner first, where
// loads have owners, then the load itself.
type height struct{ owner, own float64 }

func (a height) compare(b height) int {
	return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.own, b.own))
}

// level is how high a load is with so many secondaries: with equal weights it is ordered as slots are,
// and with alike instances as the divisor rule asks, by (n + 1) / weight.
func (p *packer) level(load, count int) height {
	l := &p.loads[load]
	h := height{own: float64(count*l.Unit+1) / l.Weight}
	if l.Owner > 0 {
		h.owner = p.ownerLevel(l.Owner, p.ownerUnits[l.Owner]+(count-p.count[load])*l.Unit)
	}
	return h
}

func (p *packer) ownerLevel(owner, units int) float64 {
	return float64(units+1) / p.ownerWeight[owner]
}

// gatherOwners makes room for the owners, whose numbers are small.
func (p *packer) gatherOwners() {
	most := 0
	for i := range p.loads {
		most = max(most, p.loads[i].Owner)
	}
	p.ownerUnits, p.ownerWeight = make([]int, most+1), make([]float64, most+1)
	for i := range p.loads {
		w := &p.ownerWeight[p.loads[i].Owner]
		*w = max(*w, p.loads[i].Weight)
	}
}

// raise gives a load so many secondaries more.
func (p *packer) raise(load, n int) {
	p.count[load] += n
	if l := &p.loads[load]; l.Owner > 0 {
		p.ownerUnits[l.Owner] += n * l.Unit
	}
}

// yields says that a load could give an instance to another without coming to stand below it as it is now.
// Among the loads of one owner only their own levels count, else only the owners'.
func (p *packer) yields(from, to int) bool {
	a, b := p.level(from, p.count[from]-1), p.level(to, p.count[to])
	if o := p.loads[from].Owner; o == 0 || o == p.loads[to].Owner {
		return a.own >= b.own
	}
	return a.owner >= b.owner
}

// larger says whether the sorted levels have become lexicographically larger, the owners' before the
// loads'; only changes matter.
func (p *packer) larger(before []int) bool {
	var was, is []float64
	units := map[int]int{} // by owner: what he has more now
	for i := range before {
		if before[i] == p.count[i] {
			continue
		}
		was, is = append(was, p.level(i, before[i]).own), append(is, p.level(i, p.count[i]).own)
		if l := &p.loads[i]; l.Owner > 0 {
			units[l.Owner] += (p.count[i] - before[i]) * l.Unit
		}
	}
	var ownersWere, ownersAre []float64
	for o, n := range units {
		ownersWere, ownersAre = append(ownersWere, p.ownerLevel(o, p.ownerUnits[o]-n)),
			append(ownersAre, p.ownerLevel(o, p.ownerUnits[o]))
	}
	for _, list := range [][]float64{was, is, ownersWere, ownersAre} {
		slices.Sort(list)
	}
	return cmp.Or(slices.Compare(ownersAre, ownersWere), slices.Compare(is, was)) > 0
}
