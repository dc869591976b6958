package agenda

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// list holds the distinct entries of a range in order, as few progressions as a simple walk finds: a range
// of a million numbers is one segment. Entries are found by position and by value.
type list struct {
	segments []segment
	labels   []label
	entries  int
	open     progression // numbers not yet in segments; count 0: none

	// How to find a value. Segments of numbers are mostly apart and then byLow is enough; where they
	// interleave, byNumber has all entries that are numbers.
	byLow    []uint32 // segments by lowest number
	byNumber []uint32 // entries by number; only if segments interleave
	byText   []uint32 // labels by text
}

// segment is a progression of numbers or, with step 0, count labels from labels[first] on.
type segment struct {
	progression
	at int // position of its first entry
}

type label struct {
	text string
	at   int // position
}

// readList reads a range whose elements are known to be good.
func readList(text string) *list {
	l := &list{}
	_ = eachElement(text, l.addElement)
	return l.close()
}

func (l *list) addElement(e element) {
	if e.label != "" {
		l.addLabel(e.label)
		return
	}
	l.addProgression(e.progression)
}

// add appends an entry as at gives it.
func (l *list) add(number int64, text string) {
	l.addElement(element{text, progression{number, 1, 1}})
}

func (l *list) addLabel(text string) {
	l.flush(false)
	l.labels = append(l.labels, label{text, l.entries})
	if n := len(l.segments); n > 0 && l.segments[n-1].step == 0 {
		l.segments[n-1].count++
		l.entries++
		return
	}
	l.emit(progression{int64(len(l.labels) - 1), 0, 1})
}

// addProgression takes at most four numbers one by one until the open progression has their step.
func (l *list) addProgression(p progression) {
	for p.count > 0 {
		if l.open.count >= 2 && l.open.step == p.step && l.open.last()+p.step == p.first {
			l.open.count += p.count
			return
		}
		l.addNumber(p.first)
		p.first += p.step
		p.count--
	}
}

// addNumber lengthens the open progression or begins another one. Two numbers that are not neighbours
// make no progression unless a third one follows: 1,5,6,7 reads better as 1,5-7 than as 1-5x4,6-7.
func (l *list) addNumber(v int64) {
	if l.open.count == 0 {
		l.open = progression{v, 1, 1}
		return
	}
	last := l.open.last()
	gap := v - last
	joins := gap != 0 && gap != math.MinInt64 && (gap > 0) == (v > last)
	switch {
	case joins && l.open.count == 1:
		l.open.step, l.open.count = gap, 2
	case joins && gap == l.open.step:
		l.open.count++
	case joins && l.loosePair():
		l.emit(progression{l.open.first, 1, 1})
		l.open = progression{last, gap, 2}
	default:
		l.flush(false)
		l.open = progression{v, 1, 1}
	}
}

func (l *list) loosePair() bool {
	return l.open.count == 2 && l.open.step != 1 && l.open.step != -1
}

// flush ends the open progression. A loose pair that is the whole list stays one: an item of the two
// numbers 1 and 6 has the step 5.
func (l *list) flush(final bool) {
	switch {
	case l.open.count == 0:
	case l.loosePair() && !(final && len(l.segments) == 0):
		l.emit(progression{l.open.first, 1, 1})
		l.emit(progression{l.open.last(), 1, 1})
	default:
		l.emit(l.open)
	}
	l.open = progression{}
}

func (l *list) emit(p progression) {
	l.segments = append(l.segments, segment{p, l.entries})
	l.entries += int(p.count)
}

// close ends the reading: it gives a list without repetitions, ready to be searched.
func (l *list) close() *list {
	l.flush(true)
	repeated := map[int]bool{} // positions of entries that are there before
	l.sortLabels(repeated)
	if l.sortSegments() {
		l.sortNumbers(repeated)
	}
	if len(repeated) == 0 {
		return l
	}
	once := &list{}
	for position := range l.entries {
		if !repeated[position] {
			once.add(l.at(position))
		}
	}
	return once.close()
}

// sortLabels prepares the search for labels and notes repeated ones.
func (l *list) sortLabels(repeated map[int]bool) {
	l.byText = make([]uint32, len(l.labels))
	for i := range l.byText {
		l.byText[i] = uint32(i)
	}
	slices.SortStableFunc(l.byText, func(i, j uint32) int { return strings.Compare(l.labels[i].text, l.labels[j].text) })
	for i := 1; i < len(l.byText); i++ {
		if this := l.labels[l.byText[i]]; this.text == l.labels[l.byText[i-1]].text {
			repeated[this.at] = true
		}
	}
}

// sortSegments prepares the search for numbers and says whether segments interleave.
func (l *list) sortSegments() (interleave bool) {
	for i := range l.segments {
		if l.segments[i].step != 0 {
			l.byLow = append(l.byLow, uint32(i))
		}
	}
	slices.SortFunc(l.byLow, func(i, j uint32) int { return cmp.Compare(l.segments[i].low(), l.segments[j].low()) })
	for i := 1; i < len(l.byLow); i++ {
		if l.segments[l.byLow[i-1]].high() >= l.segments[l.byLow[i]].low() {
			return true
		}
	}
	return false
}

// sortNumbers prepares the search for numbers of interleaved segments and notes repeated ones.
func (l *list) sortNumbers(repeated map[int]bool) {
	type entry struct {
		number int64
		at     uint32
	}
	all := make([]entry, 0, l.entries-len(l.labels))
	for _, s := range l.segments {
		if s.step == 0 {
			continue
		}
		for i := range int(s.count) {
			all = append(all, entry{s.first + int64(i)*s.step, uint32(s.at + i)})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	l.byLow, l.byNumber = nil, make([]uint32, len(all))
	for i, e := range all {
		l.byNumber[i] = e.at
		if i > 0 && all[i-1].number == e.number {
			repeated[int(e.at)] = true
		}
	}
}

// segmentAt is the index of the segment that holds the entry at a position.
func (l *list) segmentAt(position int) int {
	return sort.Search(len(l.segments), func(i int) bool { return l.segments[i].at > position }) - 1
}

// at is the entry at a position: a number, or a label that is not "".
func (l *list) at(position int) (number int64, text string) {
	s := l.segments[l.segmentAt(position)]
	offset := int64(position - s.at)
	if s.step == 0 {
		return 0, l.labels[s.first+offset].text
	}
	return s.first + offset*s.step, ""
}

func (l *list) findNumber(v int64) (position int, ok bool) {
	if l.byNumber != nil {
		i, found := sort.Find(len(l.byNumber), func(i int) int {
			number, _ := l.at(int(l.byNumber[i]))
			return cmp.Compare(v, number)
		})
		if !found {
			return 0, false
		}
		return int(l.byNumber[i]), true
	}
	i := sort.Search(len(l.byLow), func(i int) bool { return l.segments[l.byLow[i]].low() > v }) - 1
	if i < 0 {
		return 0, false
	}
	s := l.segments[l.byLow[i]]
	offset, ok := s.position(v)
	return s.at + int(offset), ok
}

func (l *list) findLabel(text string) (position int, ok bool) {
	i, found := sort.Find(len(l.byText), func(i int) int { return strings.Compare(text, l.labels[l.byText[i]].text) })
	if !found {
		return 0, false
	}
	return l.labels[l.byText[i]].at, true
}

// slice is the list of the entries from..to-1, not prepared for searching.
func (l *list) slice(from, to int) *list {
	part := &list{}
	for i := l.segmentAt(from); i < len(l.segments) && l.segments[i].at < to; i++ {
		s := l.segments[i]
		lo := int64(max(from-s.at, 0))
		hi := min(int64(to-s.at), s.count)
		if s.step != 0 {
			part.addProgression(progression{s.first + lo*s.step, s.step, hi - lo})
			continue
		}
		for _, label := range l.labels[s.first+lo : s.first+hi] {
			part.addLabel(label.text)
		}
	}
	part.flush(true)
	return part
}

// String writes the list as a range that reads back as the same list.
func (l *list) String() string {
	var text []byte
	for i, s := range l.segments {
		if i > 0 {
			text = append(text, ',')
		}
		if s.step != 0 {
			text = s.progression.append(text)
			continue
		}
		for j, label := range l.labels[s.first : s.first+s.count] {
			if j > 0 {
				text = append(text, ',')
			}
			text = append(text, label.text...)
		}
	}
	return string(text)
}
