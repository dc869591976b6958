package smartshare

import (
	"cmp"
	"slices"
)

// Field is a farm of alike slots, as numbers: classes of slots, groups of claims that may use the same
// classes, and the claims themselves.
type Field struct {
	Capacity []int   // free for division, by class: all slots but those of pinned instances
	Vacant   []int   // of those, by class: free now, so that a start need not wait for an end; nil: all that are free
	Open     [][]int // the classes open to each group, none twice
	Claims   []Claim // in dispatch order
	// Serve is the order in which primaries are granted within a rank; nil: the dispatch order.
	Serve   []int
	Limits  []Limit
	Scratch *Scratch // where the memory of a division comes from, its answer's included
}

// Claim is what one job may have of a field. Pinned instances (running primaries, secondaries that may
// not be stopped) are in no number but Floor and take no capacity.
type Claim struct {
	Group int
	// above 0: the surplus is divided by owner first, the lower numbers before; all claims have one or none has
	Owner  int
	Need   int     // primaries still to be placed
	Tiers  []Tier  // where those may be placed; nil: wherever the group may
	Floor  int     // secondaries pinned: they count towards the level
	Cap    int     // most secondaries, if all of Need is granted; a cap below the floor only stops growth
	Weight float64 // above zero
	Held   []Holding
}

// Tier is a rank that a claim has in the classes open to a group: all claims are served in a better rank
// before any is in a worse one. Ranks rise within a claim.
type Tier struct{ Rank, Group int }

// Holding is what a claim has in one class and may lose. The class need not be open to it: then it may
// keep but not start there. A claim has at most one holding in a class.
type Holding struct {
	Class      int
	Count      int
	KeepValues []KeepValue // of each of Count, the most first; may be nil where there is only one class
}

// Worth is what keeping an instance is good for: its Work, in any unit whose sums stay below 2^62; Tie
// decides between equals, the larger is kept.
type KeepValue struct {
	Work int64
	Tie  int
}

// Compare is negative if w is worth less than v.
func (w KeepValue) Compare(v KeepValue) int {
	return cmp.Or(cmp.Compare(w.Work, v.Work), cmp.Compare(w.Tie, v.Tie))
}

// Division is the answer: by claim what it gets, by group and class where new instances go. In a class primaries start
// before secondaries, so that the ones that wait for an end are the last.
type Division struct {
	Grant  []int      // primaries granted of Need
	Tier   [][]int    // by claim and tier, if it has any: the part of Grant placed there
	Target []int      // secondaries, floor included
	Keep   [][]int    // by claim and holding: how many to keep, the most worth first
	Starts [2][][]int // by kind (0: primaries, 1: secondaries), group and class: instances to start
}

// Divide grants primaries in order, then divides what is left exactly: the sorted levels of secondaries
// are lexicographically largest; of all such divisions it is one with the fewest stops, and of those the
// one whose odd units go to the first in order; for it the stops cost the least worth; and then the fewest primaries
// wait for an end, and the fewest secondaries. Where claims have owners the levels are theirs first: see capByOwner.
// Limits bound primaries and secondaries together: see capByLimits.
func (f *Field) Divide() Division {
	divided := *f
	f = &divided
	f.capByLimits()
	f.capByOwner()
	n := len(f.Claims)
	d := Division{Grant: Lend[int](f.Scratch, n), Tier: Lend[[]int](f.Scratch, n), Target: Lend[int](f.Scratch, n),
		Keep: Lend[[]int](f.Scratch, n)}
	keeps, starts := Lend[int](f.Scratch, f.holdings()), Lend[int](f.Scratch, 2*len(f.Open)*len(f.Capacity))
	for i := range f.Claims {
		n := len(f.Claims[i].Held)
		d.Keep[i], keeps = keeps[:n:n], keeps[n:]
	}
	for kind := range d.Starts {
		d.Starts[kind] = make([][]int, len(f.Open))
		for g := range f.Open {
			n := len(f.Capacity)
			d.Starts[kind][g], starts = starts[:n:n], starts[n:]
		}
	}
	l := newLeveller(f, &d)
	l.grantPrimaries()
	for l.nextBottleneck() {
	}
	return d
}

func (f *Field) holdings() int {
	n := 0
	for i := range f.Claims {
		n += len(f.Claims[i].Held)
	}
	return n
}

// opens says whether a class is open to a group.
func (f *Field) opens(group, class int) bool { return slices.Contains(f.Open[group], class) }
