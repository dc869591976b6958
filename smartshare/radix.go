package smartshare

import (
	"cmp"
	"math"
	"slices"
)

// Keyed is one of many, identified by its place among them, and the number by which it is to be ordered.
type Keyed struct {
	Key   uint64
	Place int
}

// radixFrom is the length from which on a list is sorted by radix; for shorter lists comparisons are faster.
const radixFrom = 256

// RadixSort sorts the list by key: a stable LSD radix sort. Bytes that are equal in all keys are skipped; short lists
// are sorted by comparison instead. room is scratch space of at least the list's length.
func RadixSort(list, room []Keyed) {
	if len(list) < 2 {
		return
	}
	differ, sorted := uint64(0), true
	for n := 1; n < len(list); n++ {
		differ |= list[n].Key ^ list[n-1].Key
		sorted = sorted && list[n-1].Key <= list[n].Key
	}
	switch {
	case sorted:
		return
	case len(list) < radixFrom:
		slices.SortStableFunc(list, func(x, y Keyed) int { return cmp.Compare(x.Key, y.Key) })
		return
	}
	from, to := list, room[:len(list)]
	for shift := 0; shift < 64; shift += 8 {
		if byte(differ>>shift) == 0 {
			continue
		}
		var at [256]int
		for n := range from {
			at[byte(from[n].Key>>shift)]++
		}
		sum := 0
		for value, n := range at {
			at[value], sum = sum, sum+n
		}
		for _, one := range from {
			value := byte(one.Key >> shift)
			to[at[value]] = one
			at[value]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// ordered gives numbers as whole ones in the same order, that of cmp.Compare.
func ordered(x float64) uint64 {
	bits := math.Float64bits(x + 0) // zero has one sign
	switch {
	case x != x:
		return 0
	case bits>>63 == 1:
		return ^bits
	}
	return bits | 1<<63
}

func orderedInt(x int64) uint64 { return uint64(x) ^ 1<<63 }
