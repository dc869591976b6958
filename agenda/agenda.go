package agenda

import (
	"fmt"
	"strconv"
	"strings"

	"qb/internal/units"
)

// Agenda is a job's items, numbered from 0. It does not change. A range of a million numbers takes a few
// hundred bytes; only Binary order takes more, eight bytes an item.
type Agenda struct {
	list *list
	runs bool // the items of a job without a range

	// Before they are ordered, the first longer chunks have size+1 entries, all others size, but the
	// last one may have fewer. A chunk is an item, unless cuts divide it.
	items, size, longer int
	cuts                []uint32 // positions of entries that begin an item within a chunk, ascending

	order   Order
	turns   []uint32 // Binary only: the item before ordering at each place
	places  []uint32 // Binary only: the inverse of turns
	padding int
}

// Item is one thing to do.
type Item struct {
	Name string // a number, a label, or the range of a chunk: 1-10, 1-13x2
	// lowest and highest number, or first and last entry; numbers have the padding's digits, without the sign
	Start, End string
	Step       string // from each number to the next higher one; 1 where they are not evenly spaced
}

// Parse reads an agenda. limit is the most items a job may have; 0 or less means MaxItems, for an
// agenda that was accepted before. Everything is counted before anything is expanded; the entries of a
// range count, not the chunks, and repeated entries count too.
//
// Errors: *RangeError for an element that cannot be understood, *LimitError, and plain ones that name the
// option.
func Parse(spec Spec, limit int) (*Agenda, error) {
	if limit <= 0 || limit > MaxItems {
		limit = MaxItems
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	runs := spec.Range == ""
	if runs {
		spec.Range = fmt.Sprintf("0-%d", spec.Runs-1)
	}
	count, saturated, err := countEntries(spec.Range)
	if err != nil {
		return nil, err
	}
	if count > int64(limit) {
		return nil, &LimitError{count, int64(limit), saturated}
	}
	a := &Agenda{list: readList(spec.Range), runs: runs, order: spec.Order, padding: spec.Padding}
	a.split(spec)
	if spec.Named {
		a.divide()
	}
	if a.order == Binary {
		a.turns, a.places = binaryOrder(a.items)
	}
	return a, nil
}

func (s Spec) check() error {
	switch {
	case s.Chunk < 0:
		return fmt.Errorf("chunk %d: must be 1 or more entries an item, or 0 for one", s.Chunk)
	case s.Partitions < 0:
		return fmt.Errorf("partitions %d: must be 1 or more, or 0 for none", s.Partitions)
	case s.Chunk > 1 && s.Partitions > 0:
		return fmt.Errorf("chunk %d and partitions %d exclude each other: give one of them", s.Chunk, s.Partitions)
	case s.Padding < 0 || s.Padding > maxPadding:
		return fmt.Errorf("padding %d: must be from 0 to %d digits", s.Padding, maxPadding)
	case s.Order != Ascend && s.Order != "ascend" && s.Order != Reverse && s.Order != Binary:
		return fmt.Errorf("order %s: must be ascend, reverse or binary", units.Quoted(string(s.Order)))
	case s.Range != "" && strings.TrimSpace(s.Range) == "":
		return fmt.Errorf("range %s: is blank; write one such as 1-100, or leave it out", units.Quoted(s.Range))
	case s.Range == "" && s.Runs < 1:
		return fmt.Errorf("runs %d: a job without a range must run its command at least once", s.Runs)
	case s.Range == "" && (s.Chunk > 1 || s.Partitions > 0 || s.Padding > 0 || s.Order == Reverse || s.Order == Binary):
		return fmt.Errorf("chunk, partitions, order and padding need a range: give one such as 1-100, or leave them out")
	}
	return nil
}

// split divides the entries among the items. More partitions than entries are as many as entries.
func (a *Agenda) split(spec Spec) {
	entries := a.list.entries
	if spec.Partitions > 0 {
		a.items = min(spec.Partitions, entries)
		a.size, a.longer = entries/a.items, entries%a.items
		return
	}
	a.size = min(max(spec.Chunk, 1), entries)
	a.items = (entries + a.size - 1) / a.size
}

// binaryOrder is first, last, then the middle of each gap, gaps in the order in which they came about.
func binaryOrder(items int) (turns, places []uint32) {
	turns, places = make([]uint32, 0, items), make([]uint32, items)
	take := func(i int) {
		places[i] = uint32(len(turns))
		turns = append(turns, uint32(i))
	}
	take(0)
	if items > 1 {
		take(items - 1)
	}
	type gap struct{ left, right uint32 }
	gaps := []gap{{0, uint32(items - 1)}}
	for len(gaps) > 0 {
		var next []gap
		for _, g := range gaps {
			if g.right-g.left < 2 {
				continue
			}
			middle := g.left + (g.right-g.left)/2
			take(int(middle))
			next = append(next, gap{g.left, middle}, gap{middle, g.right})
		}
		gaps = next
	}
	return turns, places
}

// Len is the number of items.
func (a *Agenda) Len() int { return a.items }

// Item is the n-th item, from 0. It panics if there is none.
func (a *Agenda) Item(n int) Item {
	if n < 0 || n >= a.items {
		panic(fmt.Sprintf("agenda: item %d of %d", n, a.items))
	}
	from, to := a.span(a.unordered(n))
	if to == from+1 {
		number, label := a.list.at(from)
		padded := a.padded(number, label)
		return Item{Name: plain(number, label), Start: padded, End: padded, Step: "1"}
	}
	return a.several(a.list.slice(from, to))
}

// String is the range as briefly as it can be written; parsed with the same options it gives the same
// items. It is empty for a job without a range.
func (a *Agenda) String() string {
	if a.runs {
		return ""
	}
	return a.list.String()
}

// unordered is the item before ordering that has become the n-th; ordered is its inverse.
func (a *Agenda) unordered(n int) int {
	switch a.order {
	case Reverse:
		return a.items - 1 - n
	case Binary:
		return int(a.turns[n])
	}
	return n
}

func (a *Agenda) ordered(item int) int {
	switch a.order {
	case Reverse:
		return a.items - 1 - item
	case Binary:
		return int(a.places[item])
	}
	return item
}

func plain(number int64, label string) string {
	if label != "" {
		return label
	}
	return strconv.FormatInt(number, 10)
}

func (a *Agenda) padded(number int64, label string) string {
	if label != "" || a.padding == 0 {
		return plain(number, label)
	}
	if number < 0 {
		return fmt.Sprintf("%0*d", a.padding+1, number) // the sign is none of the digits
	}
	return fmt.Sprintf("%0*d", a.padding, number)
}
