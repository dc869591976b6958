package agenda

import (
	"cmp"
	"slices"
)

// Span is the items First, First+Step and so on to Last. A span of one item has Step 1.
type Span struct{ First, Last, Step int }

// Len is the number of items.
func (s Span) Len() int { return (s.Last-s.First)/s.Step + 1 }

// Has says whether item n is one of the span's.
func (s Span) Has(n int) bool { return n >= s.First && n <= s.Last && (n-s.First)%s.Step == 0 }

// From is the part of the span from item n on.
func (s Span) From(n int) (Span, bool) {
	if n > s.First {
		s.First += (n - s.First + s.Step - 1) / s.Step * s.Step
	}
	return s.proper()
}

// proper gives a span of one item the step 1; false: it has no item.
func (s Span) proper() (Span, bool) {
	if s.First == s.Last {
		s.Step = 1
	}
	return s, s.First <= s.Last
}

// appendSpan appends the span unless it is empty.
func appendSpan(list []Span, s Span) []Span {
	if s, ok := s.proper(); ok {
		return append(list, s)
	}
	return list
}

// Without is s without the items of off, in the fewer of two ways to write it: the pieces between the items that
// go, or one progression for each remainder that stays.
func (s Span) Without(off Span) []Span {
	first, every, ok := s.shared(off)
	if !ok {
		return []Span{s}
	}
	last := min(s.Last, off.Last)
	last = first + (last-first)/every*every
	gone := (last-first)/every + 1
	var list []Span
	if gone <= every/s.Step {
		at := s.First
		for n := first; n <= last; n += every {
			list = appendSpan(list, Span{at, n - s.Step, s.Step})
			at = n + s.Step
		}
		return appendSpan(list, Span{at, s.Last, s.Step})
	}
	list = appendSpan(list, Span{s.First, first - s.Step, s.Step})
	for n := first + s.Step; n < first+every; n += s.Step {
		end := min(last, s.Last) + every - s.Step
		end = min(end, s.Last)
		list = appendSpan(list, Span{n, n + (end-n)/every*every, every})
	}
	return appendSpan(list, Span{last + every, s.Last, s.Step})
}

// Meets is the first item that both spans have.
func (s Span) Meets(o Span) (int, bool) {
	first, _, ok := s.shared(o)
	return first, ok
}

// shared is the first item that both spans have, and the distance from each such item to the next.
func (s Span) shared(o Span) (first, every int, ok bool) {
	if s.Last < o.First || o.Last < s.First {
		return 0, 0, false
	}
	g := gcd(s.Step, o.Step)
	if (o.First-s.First)%g != 0 {
		return 0, 0, false
	}
	first, every = max(s.First, o.First), s.Step/g*o.Step
	// Of the items of the wider step the first that the other span has too is among the next few.
	wide, other := s, o
	if o.Step > s.Step {
		wide, other = o, s
	}
	for n := wide.First + max(0, (first-wide.First+wide.Step-1)/wide.Step)*wide.Step; n <= min(s.Last,
		o.Last); n += wide.Step {
		if other.Has(n) {
			return n, every, true
		}
	}
	return 0, 0, false
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// SpansOf writes numbers, ascending and each once, as few spans as a simple walk finds.
func SpansOf(numbers []int) []Span {
	l := &list{}
	for _, n := range numbers {
		l.addNumber(int64(n))
	}
	l.flush(false)
	spans := make([]Span, len(l.segments))
	for i, s := range l.segments {
		spans[i], _ = Span{int(s.first), int(s.last()), int(s.step)}.proper()
	}
	return spans
}

// Depth is the most of the spans in whose reach one item lies, whether they have it or not.
func Depth(spans []Span) int {
	type edge struct{ at, by int }
	edges := make([]edge, 0, 2*len(spans))
	for _, s := range spans {
		edges = append(edges, edge{s.First, 1}, edge{s.Last + 1, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	depth, most := 0, 0
	for _, e := range edges {
		depth += e.by
		most = max(most, depth)
	}
	return most
}

// Pick is the items that an expression names, as Select has it, in spans of which no two have an item in common.
// A progression of the expression stays one where the items allow it.
func (a *Agenda) Pick(expr string) ([]Span, error) {
	numbers, err := a.Select(expr)
	if err != nil {
		return nil, err
	}
	spans := SpansOf(numbers)
	if len(spans) <= 1 {
		return spans, nil
	}
	if said := a.pickAsSaid(expr); len(said) < len(spans) {
		return said, nil
	}
	return spans, nil
}

// pickAsSaid makes spans of the items of each element of an expression that is known to be good.
func (a *Agenda) pickAsSaid(expr string) []Span {
	var spans []Span
	seen := make([]bool, a.items)
	_ = eachElement(expr, func(e element) {
		var numbers []int
		for i := range e.count {
			at, _ := a.position(e.first+i*e.step, e.label)
			if n := a.ordered(a.holder(at)); !seen[n] {
				seen[n] = true
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		spans = append(spans, SpansOf(numbers)...)
	})
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	return spans
}

// Text names items, given as spans of which no two have one in common, as Pick reads them.
func (a *Agenda) Text(spans []Span) string {
	l := &list{}
	for _, s := range spans {
		for n := s.First; n <= s.Last; n += s.Step {
			for position, to := a.span(a.unordered(n)); position < to; position++ {
				l.add(a.list.at(position))
			}
		}
	}
	l.flush(false)
	return l.String()
}
