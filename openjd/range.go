package openjd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxElements bounds the elements, separated by commas, of one range expression.
const maxElements = 10_000

// A span is an arithmetic progression: first, first+step, … last. The step is positive. Distances are computed without
// a sign, as that of two integers of 64 bits may be larger than the largest one.
type span struct {
	first int64
	last  int64
	step  int64
}

// steps is the number of steps from the first value to the last.
func (s span) steps() uint64 { return (uint64(s.last) - uint64(s.first)) / uint64(s.step) }

// count is the number of values. It fits, as newRange refuses what does not.
func (s span) count() int64 { return int64(s.steps()) + 1 }

func (s span) at(n int64) int64 { return int64(uint64(s.first) + uint64(n)*uint64(s.step)) }

// end is the last value that the steps meet.
func (s span) end() int64 { return int64(uint64(s.first) + s.steps()*uint64(s.step)) }

// A Range is a sequence of integers that is kept as spans: "1-1000000" is one of them.
type Range struct {
	spans []span
	ends  []int64 // the number of values up to and with each span
}

// Len is the number of values.
func (r *Range) Len() int64 {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// At is the n-th value, from 0.
func (r *Range) At(n int64) int64 {
	i := r.find(n)
	return r.spans[i].at(n - r.before(i))
}

// find is the span that has the n-th value.
func (r *Range) find(n int64) int {
	i, _ := slices.BinarySearch(r.ends, n+1)
	return i
}

// before is the number of values in the spans before one.
func (r *Range) before(i int) int64 {
	if i == 0 {
		return 0
	}
	return r.ends[i-1]
}

// newRange counts spans.
func newRange(spans []span) (*Range, error) {
	r := &Range{spans: spans}
	total := int64(0)
	for _, s := range spans {
		if n := s.steps(); n >= math.MaxInt64 || int64(n)+1 > math.MaxInt64-total {
			return nil, fmt.Errorf("the range has more than %d values", math.MaxInt64)
		}
		total += s.count()
		r.ends = append(r.ends, total)
	}
	return r, nil
}

// listRange is a range of the values of a list, in its order.
func listRange(values []int64) (*Range, error) {
	spans := make([]span, len(values))
	for i, v := range values {
		spans[i] = span{v, v, 1}
	}
	return newRange(mergeRuns(spans))
}

// ParseRange reads a range expression, such as "1-10:2,15". The values are in increasing order.
func ParseRange(s string) (*Range, error) {
	if n := strings.Count(s, ",") + 1; n > maxElements {
		return nil, fmt.Errorf("the range has %d elements, and at most %d are read", n, maxElements)
	}
	var written []span
	for element := range strings.SplitSeq(s, ",") {
		sp, err := parseElement(element)
		if err != nil {
			return nil, err
		}
		written = append(written, sp)
	}
	slices.SortFunc(written, func(a, b span) int { return order(a.first, b.first) })
	for i := 1; i < len(written); i++ {
		if written[i-1].last >= written[i].first {
			return nil, fmt.Errorf("%s and %s overlap; each value may occur once", written[i-1], written[i])
		}
	}
	for i, w := range written {
		written[i].last = w.end() // the last value, not the bound as it is written
	}
	return newRange(mergeRuns(written))
}

func (s span) String() string {
	switch {
	case s.first == s.last:
		return strconv.FormatInt(s.first, 10)
	case s.step == 1:
		return fmt.Sprintf("%d-%d", s.first, s.last)
	}
	return fmt.Sprintf("%d-%d:%d", s.first, s.last, s.step)
}

// parseElement reads "5", "1-10" or "1-10:2" as it is written: the last value may be beyond the last member.
func parseElement(element string) (span, error) {
	p := &rangeParser{rest: element, element: strings.Trim(element, " \t")}
	first := p.integer("a number")
	if p.atEnd() || p.err != nil {
		return span{first, first, 1}, p.err
	}
	p.expect("-")
	last := p.integer("the end of the range")
	step := int64(1)
	if !p.atEnd() {
		p.expect(":")
		step = p.integer("the step of the range")
	}
	if !p.atEnd() {
		p.fail("%s is more than a range such as 1-10 or 1-10:2", quote(p.element))
	}
	switch {
	case p.err != nil:
	case step == 0 || step == math.MinInt64:
		p.fail("the step of %s is %d", quote(p.element), step)
	case step > 0 && first > last:
		p.fail("%s goes down; write a negative step, such as %d-%d:-1", quote(p.element), first, last)
	case step < 0 && first < last:
		p.fail("%s goes up; write a positive step", quote(p.element))
	case step < 0:
		down := span{last, first, -step}
		return span{int64(uint64(first) - down.steps()*uint64(-step)), first, -step}, nil
	}
	return span{first, last, step}, p.err
}

// A rangeParser reads one element of a range. The first error is kept.
type rangeParser struct {
	element string
	rest    string
	err     error
}

func (p *rangeParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *rangeParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *rangeParser) atEnd() bool {
	p.skip()
	return p.rest == "" || p.err != nil
}

func (p *rangeParser) expect(sign string) {
	p.skip()
	rest, found := strings.CutPrefix(p.rest, sign)
	if !found {
		p.fail("%s is not a range such as 1-10 or 1-10:2", quote(p.element))
	}
	p.rest = rest
}

func (p *rangeParser) integer(what string) int64 {
	p.skip()
	unsigned := strings.TrimPrefix(p.rest, "-")
	negative := len(unsigned) < len(p.rest)
	unsigned = strings.TrimLeft(unsigned, " \t")
	tail := strings.TrimLeft(unsigned, "0123456789")
	number := unsigned[:len(unsigned)-len(tail)]
	if number == "" {
		p.fail("%s is missing in %s", what, quote(p.element))
		return 0
	}
	p.rest = tail
	if negative {
		number = "-" + number
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		p.fail("%s is outside of the integers of 64 bits, %d to %d", quote(number), math.MinInt64, math.MaxInt64)
		return 0
	}
	return n
}

// mergeRuns joins spans that continue one another, so that a run of successive integers is one span. The last value
// of a progression with a larger step joins the run after it, and the first value the run before it.
func mergeRuns(spans []span) []span {
	var out []span
	push := func(s span) {
		if n := len(out) - 1; n >= 0 && s.step == 1 && out[n].step == 1 && follows(out[n].last, s.first) {
			out[n].last = s.last
			return
		}
		out = append(out, s)
	}
	for i, s := range spans {
		s = simplify(s)
		if s.step > 1 && len(out) > 0 && follows(out[len(out)-1].last, s.first) {
			push(span{s.first, s.first, 1})
			s = simplify(span{s.first + s.step, s.last, s.step})
		}
		splitLast := s.step > 1 && i+1 < len(spans) && follows(s.last, spans[i+1].first)
		if !splitLast {
			push(simplify(s))
			continue
		}
		if s.first < s.last {
			push(simplify(span{s.first, s.last - s.step, s.step}))
		}
		push(span{s.last, s.last, 1})
	}
	return out
}

func simplify(s span) span {
	if s.first == s.last {
		s.step = 1
	}
	return s
}

func follows(last, next int64) bool { return last < math.MaxInt64 && next == last+1 }
