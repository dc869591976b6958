package planner

import (
	"cmp"
	"slices"

	"qb/smartshare"
)

// victimKeys are how many numbers decide between victims: the two of a turn, then the first bytes of the id, which
// mostly tell ids apart.
const victimKeys = 3

// comparedUpTo is how many victims are compared each with others; more are ordered number by number.
const comparedUpTo = 64

// victim is an instance that may be stopped, with the keys of its turn.
type victim struct {
	keys     [victimKeys]uint64
	instance int
}

// sortVictims puts first what is to go first.
func (b *balance) sortVictims(list []int) {
	if len(list) < 2 {
		return
	}
	b.victims = slices.Grow(b.victims[:0], len(list))
	for _, i := range list {
		first, then := smartshare.VictimOrder(b.running(i), b.passive)
		b.victims = append(b.victims, victim{[victimKeys]uint64{first, then, leadingBytes(b.s.Running[i].ID)}, i})
	}
	compare := func(x, y victim) int { return b.compareVictims(&x, &y, 0) }
	switch {
	case slices.IsSortedFunc(b.victims, compare):
		return
	case len(list) <= comparedUpTo:
		slices.SortFunc(b.victims, compare)
		for n := range b.victims {
			list[n] = b.victims[n].instance
		}
		return
	}
	b.turns = slices.Grow(b.turns[:0], len(list))
	for n := range b.victims {
		b.turns = append(b.turns, smartshare.Keyed{Place: n})
	}
	b.spare = slices.Grow(b.spare[:0], len(list))[:len(list)]
	b.arrange(b.turns, 0)
	for n, turn := range b.turns {
		list[n] = b.victims[turn.Place].instance
	}
}

// arrange orders victims that are equal before the nth of their keys.
func (b *balance) arrange(list []smartshare.Keyed, nth int) {
	if nth == victimKeys || len(list) <= comparedUpTo {
		slices.SortFunc(list, func(x, y smartshare.Keyed) int {
			return b.compareVictims(&b.victims[x.Place], &b.victims[y.Place], nth)
		})
		return
	}
	for n := range list {
		list[n].Key = b.victims[list[n].Place].keys[nth]
	}
	smartshare.RadixSort(list, b.spare)
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].Key == list[from].Key {
			to++
		}
		if to-from > 1 {
			b.arrange(list[from:to], nth+1)
		}
		from = to
	}
}

// compareVictims compares instances that are equal before the nth of their keys.
func (b *balance) compareVictims(x, y *victim, nth int) int {
	for ; nth < victimKeys; nth++ {
		if c := cmp.Compare(x.keys[nth], y.keys[nth]); c != 0 {
			return c
		}
	}
	return b.compareID(x.instance, y.instance)
}

// leadingBytes orders texts as they are ordered, as far as their first eight bytes tell them apart.
func leadingBytes(text string) (first uint64) {
	for n := range min(8, len(text)) {
		first |= uint64(text[n]) << (56 - 8*n)
	}
	return first
}
