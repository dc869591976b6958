package agenda

import (
	"fmt"
	"slices"
	"strings"
)

// Preview divides an agenda: first are the items of the list, rest are the others, in the agenda's own order. An empty
// list means the first, the last and the middle item. Entries of the list that the agenda does not have are items
// of first all the same, unless items have several entries each: then the list names whole items. Rest has no range if
// nothing is left.
func (a *Agenda) Preview(spec Spec, list string) (first, rest Spec, err error) {
	if spec.Range == "" {
		return first, rest, fmt.Errorf("p_agenda needs a range: give one such as 1-100, or leave it out")
	}
	first, rest = spec, spec
	first.Order = Ascend
	taken := make([]bool, a.items) // before they are ordered
	switch single := a.size == 1 && a.longer == 0; {
	case strings.TrimSpace(list) == "":
		taken[0], taken[(a.items-1)/2], taken[a.items-1] = true, true, true
		first.Order = Binary
		first.Range = a.part(taken, true)
	case single:
		if err := a.takeEntries(list, taken); err != nil {
			return first, rest, err
		}
		first.Range = list
		first.Chunk = 0
		first.Partitions = 0
	default:
		numbers, err := a.Select(list)
		if err != nil {
			return first, rest, err
		}
		for _, n := range numbers {
			taken[a.unordered(n)] = true
		}
		first.Range = a.part(taken, true)
	}
	rest.Range = a.part(taken, false)
	if spec.Partitions > 0 { // longer items come first in any part, so that all keep their entries
		left := 0
		for _, is := range taken {
			if !is {
				left++
			}
		}
		rest.Partitions = left
		if first.Partitions > 0 {
			first.Partitions = a.items - left
		}
	}
	return first, rest, nil
}

// takeEntries marks the items of those entries of the list that are in the agenda.
func (a *Agenda) takeEntries(list string, taken []bool) error {
	count, saturated, err := countEntries(list)
	if err != nil {
		return err
	}
	if saturated || count > MaxItems {
		return &LimitError{count, MaxItems, saturated}
	}
	wanted := readList(list)
	for position := range wanted.entries {
		if at, ok := a.position(wanted.at(position)); ok {
			taken[at] = true
		}
	}
	return nil
}

// part is the range of those items, before they are ordered, that are marked so.
func (a *Agenda) part(marks []bool, so bool) string {
	var pieces []string
	for n := 0; n < len(marks); {
		if marks[n] != so {
			n++
			continue
		}
		next := slices.Index(marks[n:], !so)
		if next < 0 {
			next = len(marks) - n
		}
		from, _ := a.span(n)
		_, to := a.span(n + next - 1)
		pieces = append(pieces, a.list.slice(from, to).String())
		n += next
	}
	return strings.Join(pieces, ",")
}
