package smartshare

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// MaxCount is the most slots that a claim, a class or a sum of them may count.
const MaxCount = 1 << 31

// weightUnit is the finest difference between two weights: they are kept as whole multiples of it, so
// that levels compare exactly.
const weightUnit = 1.0 / 1024

// level is a height of water: a claim of weight w reaches it with k units, at weight 1 with k.
type level struct{ k, w uint64 }

func (a level) compare(b level) int {
	ah, al := bits.Mul64(a.k, b.w)
	bh, bl := bits.Mul64(b.k, a.w)
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl))
}

// filler finds levels for claims of which it knows three numbers each.
type filler struct {
	floor, cap []int
	weight     []uint64
	den        uint64 // the heaviest weight: no claim has two steps between k/den and (k+1)/den
}

// newFiller makes weights whole. Equal weights all count as 1, whatever they are.
func newFiller(floors, caps []int, weights []float64) *filler {
	f := &filler{floor: floors, cap: caps, weight: make([]uint64, len(caps)), den: 1}
	equal := true
	for i := range weights {
		equal = equal && weights[i] == weights[0]
	}
	for i := range f.weight {
		f.weight[i] = 1
		if !equal {
			f.weight[i] = uint64(min(max(math.Round(weights[i]/weightUnit), 1), MaxCount))
		}
		f.den = max(f.den, f.weight[i])
	}
	return f
}

// at is what claim i takes when the water is at l.
func (f *filler) at(i int, l level) int {
	n := uint64(0)
	if l.w == 1 && f.weight[i] == 1 {
		n = l.k
	} else if hi, lo := bits.Mul64(l.k, f.weight[i]); hi < l.w {
		n, _ = bits.Div64(hi, lo, l.w)
	} else {
		n = math.MaxUint64
	}
	if n > uint64(f.cap[i]) {
		n = uint64(f.cap[i])
	}
	return max(int(n), f.floor[i])
}

// next is the level at which claim i, standing at n, gets one more.
func (f *filler) next(i, n int) level { return level{uint64(n + 1), f.weight[i]} }

// sum is what the claims take together at l, or anything above limit if it is more than that.
func (f *filler) sum(claims []int, l level, limit int) int {
	total := 0
	for _, i := range claims {
		total += f.at(i, l)
		if total > limit {
			return total
		}
	}
	return total
}

// highest is the highest level, among those at which a claim steps, that the slots suffice for. The
// floors are taken to fit.
func (f *filler) highest(claims []int, slots int) level {
	top := uint64(0)
	for _, i := range claims {
		top = max(top, uint64(f.cap[i])*(f.den/f.weight[i]+1))
	}
	lo, hi := uint64(0), top+1 // lo fits; hi does not, or is above every cap
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if f.sum(claims, level{mid, f.den}, slots) <= slots {
			lo = mid
		} else {
			hi = mid
		}
	}
	base := level{lo, f.den}
	if f.den == 1 {
		return base
	}
	return f.climb(claims, base, level{lo + 1, f.den}, slots)
}

// climb takes the steps between two levels one height after another, as long as the slots suffice.
func (f *filler) climb(claims []int, from, to level, slots int) level {
	var steps []level
	free := slots
	for _, i := range claims {
		n := f.at(i, from)
		free -= n
		if l := f.next(i, n); n < f.cap[i] && l.compare(to) < 0 {
			steps = append(steps, l)
		}
	}
	slices.SortFunc(steps, level.compare)
	for start := 0; start < len(steps); {
		end := start
		for end < len(steps) && steps[end].compare(steps[start]) == 0 {
			end++
		}
		if free < end-start {
			break
		}
		free -= end - start
		from, start = steps[start], end
	}
	return from
}

// above is the least level at which one of the claims takes more than at l; ok is false if none does.
func (f *filler) above(claims []int, l level) (next level, ok bool) {
	for _, i := range claims {
		n := f.at(i, l)
		if n >= f.cap[i] {
			continue
		}
		if step := f.next(i, n); !ok || step.compare(next) < 0 {
			next, ok = step, true
		}
	}
	return next, ok
}
