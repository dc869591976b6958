package planner

import (
	"cmp"
	"slices"

	"qb/smartshare"
	"qb/supervisor/facts"
)

// victimKeys are how many numbers decide between victims: the two of a turn, then the first bytes of the id, which mostly
// tell ids apart.
const victimKeys = 3

// comparedUpTo is how many victims are compared each with others; more are ordered number by number.
const comparedUpTo = 64

// sortVictims puts first who is to go first.
func (b *balance) sortVictims(list []int) {
	if len(list) < 2 {
		return
	}
	b.markVictims()
	if slices.IsSortedFunc(list, func(x, y int) int { return b.compareVictims(x, y, 0) }) {
		return
	}
	b.victims = slices.Grow(b.victims[:0], len(list))
	for _, i := range list {
		b.victims = append(b.victims, smartshare.Numbered{Place: i})
	}
	b.spare = slices.Grow(b.spare[:0], len(list))[:len(list)]
	b.arrange(b.victims, 0)
	for n := range b.victims {
		list[n] = b.victims[n].Place
	}
}

// markVictims finds the keys of all that may be stopped, at once, in the order in which they lie in memory.
func (b *balance) markVictims() {
	if b.marks != nil {
		return
	}
	b.marks = make([][victimKeys]uint64, len(b.s.Running))
	for i := range b.marks {
		if b.kind[i] == facts.Secondary && !b.gone[i] {
			first, then := smartshare.TurnOf(b.running(i), b.passive).Keys()
			b.marks[i] = [victimKeys]uint64{first, then, leadingBytes(b.s.Running[i].ID)}
		}
	}
}

// arrange orders victims that are equal before the nth of their keys.
func (b *balance) arrange(list []smartshare.Numbered, nth int) {
	if nth == victimKeys || len(list) <= comparedUpTo {
		slices.SortFunc(list, func(x, y smartshare.Numbered) int { return b.compareVictims(x.Place, y.Place, nth) })
		return
	}
	for n := range list {
		list[n].Key = b.marks[list[n].Place][nth]
	}
	smartshare.SortNumbered(list, b.spare)
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
func (b *balance) compareVictims(x, y, nth int) int {
	for ; nth < victimKeys; nth++ {
		if c := cmp.Compare(b.marks[x][nth], b.marks[y][nth]); c != 0 {
			return c
		}
	}
	return b.compareID(x, y)
}

// leadingBytes orders texts as they are ordered, as far as their first eight bytes tell them apart.
func leadingBytes(text string) (first uint64) {
	for n := range min(8, len(text)) {
		first |= uint64(text[n]) << (56 - 8*n)
	}
	return first
}
