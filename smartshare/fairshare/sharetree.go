package fairshare

import (
	"cmp"
	"math"
	"slices"
)

// Sharer is one place in a tree of shares: an account, which has members, or an owner, who has none.
type Sharer struct {
	Parent int     // index of the account above, always smaller than the own; -1: directly under the farm
	Group  bool    // an account; its usage is that of its members
	Shares float64 // of what the parent has, against its siblings' shares; below zero counts as zero
	Usage  float64 // of an owner, decayed; below zero counts as zero
}

// Standing is where a sharer is. Entitled and Received are fractions of the farm.
type Standing struct {
	Entitled float64 // by shares
	Received float64 // of all usage; 0 as long as no one has used anything
	Counted  float64 // of all usage, with the account's surplus or deficit passed down
	Factor   float64 // 1 unused, 0.5 at the share, towards 0 above; 0 without shares
}

// Standings weighs a tree by the rule of OpenPBS: an owner answers for what he used and, by his part of
// the account's shares, for what his account used.
func Standings(tree []Sharer) []Standing {
	out, level := levels(tree)
	for i, s := range tree {
		st := &out[i]
		st.Counted = st.Received
		if s.Parent >= 0 {
			st.Counted = InheritedUsage(st.Received, out[s.Parent].Counted, level[i].part)
		}
		st.Factor = Factor(st.Counted, st.Entitled)
	}
	return out
}

// levelOf is a sharer among its siblings.
type levelOf struct {
	part float64 // of the siblings' shares
	used float64 // of the siblings' usage
}

// levels are the fractions of the farm and of the siblings.
func levels(tree []Sharer) ([]Standing, []levelOf) {
	usage := make([]float64, len(tree)+1) // of the farm last
	shares := make([]float64, len(tree)+1)
	above := func(i int) int {
		if p := tree[i].Parent; p >= 0 {
			return p
		}
		return len(tree)
	}
	for i := len(tree) - 1; i >= 0; i-- {
		if !tree[i].Group {
			usage[i] = max(tree[i].Usage, 0)
		}
		usage[above(i)] += usage[i]
		shares[above(i)] += max(tree[i].Shares, 0)
	}
	out, level := make([]Standing, len(tree)), make([]levelOf, len(tree))
	for i := range tree {
		p := above(i)
		level[i] = levelOf{part: partOf(max(tree[i].Shares, 0), shares[p]), used: partOf(usage[i], usage[p])}
		entitled := 1.0
		if p < len(tree) {
			entitled = out[p].Entitled
		}
		out[i].Entitled, out[i].Received = entitled*level[i].part, partOf(usage[i], usage[len(tree)])
	}
	return out, level
}

func partOf(a, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return a / of
}

// FairTree weighs a tree by the other rule: accounts are compared first, and each member of a better account
// ranks before all members of a worse account. The factor shows only the rank: 1 for the first of n owners, 1/n
// for the last; equals have equal factors. Accounts have the factor of their best member.
func FairTree(tree []Sharer) []Standing {
	out, level := levels(tree)
	children := make([][]int, len(tree)+1)
	owners := 0
	for i, s := range tree {
		p := s.Parent
		if p < 0 {
			p = len(tree)
		}
		children[p] = append(children[p], i)
		out[i].Counted = out[i].Received
		if !s.Group {
			owners++
		}
	}
	f := fairTree{tree: tree, out: out, level: level, children: children, owners: owners}
	f.rank(children[len(tree)])
	for i := len(tree) - 1; i >= 0; i-- {
		if p := tree[i].Parent; p >= 0 {
			out[p].Factor = max(out[p].Factor, out[i].Factor)
		}
	}
	return out
}

type fairTree struct {
	tree     []Sharer
	out      []Standing
	level    []levelOf
	children [][]int
	owners   int
	ranked   int
}

// rank gives the next places to the owners among and below siblings. Accounts of equal level are one
// account.
func (f *fairTree) rank(siblings []int) {
	value := func(i int) float64 {
		switch l := f.level[i]; {
		case l.part <= 0:
			return -1
		case l.used <= 0:
			return math.Inf(1)
		default:
			return l.part / l.used
		}
	}
	slices.SortFunc(siblings, func(a, b int) int { return cmp.Or(cmp.Compare(value(b), value(a)), cmp.Compare(a, b)) })
	for from := 0; from < len(siblings); {
		to := from
		var below []int
		place := f.ranked
		for ; to < len(siblings) && value(siblings[to]) == value(siblings[from]); to++ {
			i := siblings[to]
			if f.tree[i].Group {
				below = append(below, f.children[i]...)
				continue
			}
			f.ranked++
			f.out[i].Factor = float64(f.owners-place) / float64(f.owners)
			if f.level[i].part <= 0 {
				f.out[i].Factor = 0
			}
		}
		if len(below) > 0 {
			f.rank(below)
		}
		from = to
	}
}

// RanksOf are the places by factor: 1 for the largest, equal ones equal, and after k equals k places on.
func RanksOf(factors []float64) []int {
	order := make([]int, len(factors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(factors[b], factors[a]) })
	ranks := make([]int, len(factors))
	for place, i := range order {
		ranks[i] = place + 1
		if place > 0 && factors[order[place-1]] == factors[i] {
			ranks[i] = ranks[order[place-1]]
		}
	}
	return ranks
}

// SharesOfEquivalent splits what an instance takes into CPU equivalents by resource, so that they add up
// to its PE. By the sum over the farm each resource has its own; by the maximum over the machine all of it
// is the scarcest resource's.
func SharesOfEquivalent(r, whole Resources, most bool) Resources {
	parts := r.fractions(whole)
	if !most {
		return Resources{CPUs: r.CPUs, Memory: parts[1] * whole.CPUs, GPUs: parts[2] * whole.CPUs,
			Scratch: parts[3] * whole.CPUs}
	}
	largest := 0
	for i, f := range parts {
		if f > parts[largest] {
			largest = i
		}
	}
	var out [4]float64
	out[largest] = parts[largest] * whole.CPUs
	return Resources{CPUs: out[0], Memory: out[1], GPUs: out[2], Scratch: out[3]}
}
