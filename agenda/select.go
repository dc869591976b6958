package agenda

import (
	"errors"
	"fmt"
	"strings"

	"qb/internal/units"
)

// Find is the number of the item of that name. Numbers may be padded. In an agenda of chunks the name is
// the whole chunk's, as 1-10; see Select for parts.
func (a *Agenda) Find(name string) (int, bool) {
	name = strings.TrimSpace(name)
	count, _, err := countEntries(name)
	if err != nil || count > int64(a.list.entries) {
		return 0, false
	}
	wanted := readList(name)
	position, ok := a.position(wanted.at(0))
	if !ok {
		return 0, false
	}
	item := a.holder(position)
	from, to := a.span(item)
	return a.ordered(item), from == position && int64(to-from) == count &&
		wanted.String() == a.list.slice(from, to).String()
}

// position is where an entry is in the list.
func (a *Agenda) position(number int64, label string) (int, bool) {
	if label != "" {
		return a.list.findLabel(label)
	}
	return a.list.findNumber(number)
}

// Select is the numbers, in ascending order, of the items that an expression names: a comma list of item
// names and of ranges of them, as 25-29,40. What is not in the agenda is refused, and so is a part of a
// chunk: 1-20 selects the chunks 1-10 and 11-20, 5 selects nothing.
func (a *Agenda) Select(expr string) ([]int, error) {
	chosen, err := SelectAmong(expr, []*Agenda{a})
	if err != nil {
		return nil, err
	}
	return chosen[0], nil
}

// SelectAmong is Select for several jobs that one submission became. Each entry selects its item in all jobs that have
// the entry. The result has a list for each job; the list is empty if no item of the job is named.
func SelectAmong(expr string, jobs []*Agenda) ([][]int, error) {
	if strings.TrimSpace(expr) == "" {
		return nil, errors.New("the selection of items is empty; write names or ranges of them, such as 25-29,40")
	}
	count, saturated, err := countEntries(expr)
	if err != nil {
		return nil, err
	}
	entries, held := 0, make([][]int32, len(jobs)) // of each item: how many of its entries are selected
	for n, a := range jobs {
		entries += a.list.entries
		held[n] = make([]int32, a.items)
	}
	// A few entries may be named twice; a flood of them is refused, since each is looked up.
	if most := 2*int64(entries) + 1000; saturated || count > most {
		return nil, fmt.Errorf("the selection names %s items, and the job has %s: select only some of %s",
			Grouped(count), Grouped(itemsIn(jobs)), units.Quoted(rangeOf(jobs)))
	}
	wanted := readList(expr)
	for position := range wanted.entries {
		number, label := wanted.at(position)
		found := false
		for n, a := range jobs {
			if at, ok := a.position(number, label); ok {
				held[n][a.ordered(a.holder(at))]++
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("item %s is not in this job, whose items are %s", units.Quoted(plain(number, label)),
				units.Quoted(rangeOf(jobs)))
		}
	}
	chosen := make([][]int, len(jobs))
	for n, a := range jobs {
		if chosen[n], err = a.whole(held[n]); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func itemsIn(jobs []*Agenda) (n int) {
	for _, a := range jobs {
		n += a.items
	}
	return n
}

// rangeOf is the entries of all the jobs.
func rangeOf(jobs []*Agenda) string {
	var texts []string
	for _, a := range jobs {
		texts = append(texts, a.list.String())
	}
	return strings.Join(texts, ",")
}

// whole is the items of which all entries are held; one of which only some are is an error.
func (a *Agenda) whole(held []int32) ([]int, error) {
	var selected []int
	for n, count := range held {
		if count == 0 {
			continue
		}
		if from, to := a.span(a.unordered(n)); int(count) != to-from {
			return nil, fmt.Errorf("only a part of item %s is selected; items are done as a whole, so select all of it or none",
				units.Quoted(a.Item(n).Name))
		}
		selected = append(selected, n)
	}
	return selected, nil
}
