package agenda

import (
	"slices"
	"sort"
)

// divide cuts each chunk that its lowest and highest number and one step do not name, so that each item is named by
// them: where its numbers stop being evenly spaced, and at each label.
func (a *Agenda) divide() {
	a.eachUneven(func(from int, part *list) {
		if _, named := part.progression(); named {
			return
		}
		for _, s := range part.segments {
			starts := 1
			if s.step == 0 {
				starts = int(s.count)
			}
			for n := range starts {
				if at := s.at + n; at > 0 {
					a.cuts = append(a.cuts, uint32(from+at))
				}
			}
		}
	})
	a.items += len(a.cuts)
}

// eachUneven visits the chunks that are written as more than one element. All others lie within one progression. So the
// work is bounded by the length of the range as text, not by the number of its entries.
func (a *Agenda) eachUneven(visit func(from int, part *list)) {
	next := 0 // chunk
	for _, s := range a.list.segments {
		chunk := a.chunkOf(s.at)
		last := chunk
		if s.step == 0 {
			last = a.chunkOf(s.at + int(s.count) - 1)
		}
		for chunk = max(chunk, next); chunk <= last; chunk++ {
			from, to := a.chunk(chunk)
			if to-from > 1 && (s.step == 0 || from < s.at) {
				visit(from, a.list.slice(from, to))
				next = chunk + 1
			}
		}
	}
}

// LongestName is the number of bytes of the longest name of an item.
func (a *Agenda) LongestName() int {
	longest := len("-999999999999999--999999999999999x999999999999999") // of an item of one element that is no label
	for _, l := range a.list.labels {
		longest = max(longest, len(l.text))
	}
	a.eachUneven(func(_ int, part *list) {
		if _, named := part.progression(); named || len(a.cuts) == 0 {
			longest = max(longest, len(part.String()))
		}
	})
	return longest
}

// LongestEntry is the number of bytes of the longest number or label, with the padding.
func (a *Agenda) LongestEntry() (longest int) {
	for _, l := range a.list.labels {
		longest = max(longest, len(l.text))
	}
	for _, s := range a.list.segments {
		if s.step != 0 {
			longest = max(longest, len(a.padded(s.first, "")), len(a.padded(s.last(), "")))
		}
	}
	return longest
}

// MostEntries is the number of entries of the item that has most.
func (a *Agenda) MostEntries() (most int) {
	whole, cut, last := a.items-len(a.cuts), 0, -1
	for _, at := range a.cuts {
		if chunk := a.chunkOf(int(at)); chunk != last {
			cut, last = cut+1, chunk
		}
	}
	if whole-cut > 1 || cut == 0 { // a number that is no item may be the last, which has fewer
		return a.size + min(a.longer, 1)
	}
	for item := range a.items {
		from, to := a.span(item)
		most = max(most, to-from)
	}
	return most
}

// chunk is the positions from..to-1 of the entries of a chunk.
func (a *Agenda) chunk(n int) (from, to int) {
	from = n*a.size + min(n, a.longer)
	to = from + a.size
	if n < a.longer {
		to++
	}
	return from, min(to, a.list.entries)
}

// chunkOf is the chunk that holds the entry at a position.
func (a *Agenda) chunkOf(position int) int {
	if border := a.longer * (a.size + 1); position >= border {
		return a.longer + (position-border)/a.size
	}
	return position / (a.size + 1)
}

// span is the positions from..to-1 of the entries of an item before ordering.
func (a *Agenda) span(item int) (from, to int) {
	if len(a.cuts) == 0 {
		return a.chunk(item)
	}
	from, to = a.begin(item), a.list.entries
	if item+1 < a.items {
		to = a.begin(item + 1)
	}
	return from, to
}

// begin is the position of the first entry of an item before ordering.
func (a *Agenda) begin(item int) int {
	cut := sort.Search(len(a.cuts), func(i int) bool { return a.cutItem(i) > item }) - 1
	if cut >= 0 && a.cutItem(cut) == item {
		return int(a.cuts[cut])
	}
	from, _ := a.chunk(item - cut - 1)
	return from
}

// cutItem is the item that begins at a cut: all cuts and chunks up to it have begun one.
func (a *Agenda) cutItem(cut int) int { return a.chunkOf(int(a.cuts[cut])) + 1 + cut }

// holder is the item before ordering that holds the entry at a position.
func (a *Agenda) holder(position int) int {
	return a.chunkOf(position) + sort.Search(len(a.cuts), func(i int) bool { return int(a.cuts[i]) > position })
}

// several is an item of more than one entry.
func (a *Agenda) several(part *list) Item {
	item := Item{Name: part.String(), Step: "1"}
	p, named := part.progression()
	if named {
		item.Step = plain(p.step, "")
	}
	if p.count > 0 {
		item.Start, item.End = a.padded(p.first, ""), a.padded(p.last(), "")
		return item
	}
	first, firstLabel := part.at(0)
	last, lastLabel := part.at(part.entries - 1)
	if firstLabel == "" && lastLabel == "" {
		first, last = min(first, last), max(first, last)
	}
	item.Start, item.End = a.padded(first, firstLabel), a.padded(last, lastLabel)
	return item
}

// progression is an ascending progression from the lowest to the highest number of the list. It is empty if the list
// has labels. Named says whether its numbers are exactly the numbers of the list.
func (l *list) progression() (p progression, named bool) {
	if len(l.labels) > 0 {
		return progression{}, l.entries == 1
	}
	low, high := l.segments[0].low(), l.segments[0].high()
	for _, s := range l.segments[1:] {
		low, high = min(low, s.low()), max(high, s.high())
	}
	if l.entries == 1 {
		return progression{low, 1, 1}, true
	}
	// So many different numbers at so many evenly spaced places are all of them.
	gaps := int64(l.entries - 1)
	step := (high - low) / gaps
	named = (high-low)%gaps == 0
	for _, s := range l.segments {
		named = named && (s.first-low)%step == 0 && (s.count == 1 || s.step%step == 0)
	}
	if named {
		return progression{low, step, gaps + 1}, true
	}
	return progression{low, high - low, 2}, false
}

// Stepped says whether there is an item with another step than 1.
func (a *Agenda) Stepped() (yes bool) {
	if a.items == a.list.entries {
		return false
	}
	wide := func(p progression) bool { return p.count > 1 && p.step != 1 && p.step != -1 && p.step != 0 }
	for _, s := range a.list.segments {
		for n := range int(min(s.count-1, 3)) { // from the third entry on two are together, if any are
			yes = yes || wide(s.progression) && a.holder(s.at+n) == a.holder(s.at+n+1)
		}
	}
	a.eachUneven(func(_ int, part *list) {
		p, named := part.progression()
		yes = yes || named && wide(p) ||
			slices.ContainsFunc(part.segments, func(s segment) bool { return wide(s.progression) })
	})
	return yes
}

// Pads says whether a number has leading zeros.
func (a *Agenda) Pads() bool {
	least := int64(1)
	for range a.padding - 1 {
		least = min(least*10, maxNumber)
	}
	return a.padding > 1 && slices.ContainsFunc(a.list.segments, func(s segment) bool {
		return s.step != 0 && s.low() < least && s.high() > -least
	})
}
