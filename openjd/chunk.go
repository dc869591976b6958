package openjd

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// A division divides a number of values into chunks whose sizes differ by at most one.
type division struct {
	total int64
	count int64 // of chunks
}

// divide makes chunks of at most most values.
func divide(total, most int64) division {
	return division{total, (total-1)/most + 1}
}

// start is the index of the first value of a chunk. The chunks that are one larger are spread evenly.
func (d division) start(chunk int64) int64 {
	small := d.total / d.count
	larger := d.total % d.count
	high, low := bits.Mul64(uint64(chunk), uint64(larger))
	low, carry := bits.Add64(low, uint64(d.count-1), 0)
	before, _ := bits.Div64(high+carry, low, uint64(d.count)) // larger chunks before this one, rounded up
	return chunk*small + int64(before)
}

// chunked are the chunks of a CHUNK[INT] parameter.
type chunked struct {
	values     *Range
	most       int64 // values in a chunk
	contiguous bool
	ends       []int64 // of contiguous chunks: the number of chunks up to and with each span
	whole      division
}

// newChunked counts chunks. Contiguous ones never reach over a gap, so that each run is divided by itself.
func newChunked(values *Range, most int64, contiguous bool) *chunked {
	c := &chunked{values: values, most: most, contiguous: contiguous, whole: divide(values.Len(), most)}
	total := int64(0)
	for _, s := range values.spans {
		n := s.count() // each value of a progression with gaps is a run
		if s.step == 1 {
			n = divide(n, most).count
		}
		total += n
		c.ends = append(c.ends, total)
	}
	return c
}

// count is the number of chunks.
func (c *chunked) count() int64 {
	if c.contiguous {
		return c.ends[len(c.ends)-1]
	}
	return c.whole.count
}

// at is the n-th chunk, as a range expression.
func (c *chunked) at(n int64) string {
	if !c.contiguous {
		return c.values.text(c.whole.start(n), c.whole.start(n+1))
	}
	i, _ := slices.BinarySearch(c.ends, n+1)
	if i > 0 {
		n -= c.ends[i-1]
	}
	s := c.values.spans[i]
	if s.step > 1 {
		return fmt.Sprintf("%d-%d", s.at(n), s.at(n))
	}
	d := divide(s.count(), c.most)
	return fmt.Sprintf("%d-%d", s.at(d.start(n)), s.at(d.start(n+1)-1))
}

// text is the expression for the values from an index up to another one.
func (r *Range) text(from, to int64) string {
	var pieces []span
	for i := r.find(from); from < to; i++ {
		s := r.spans[i]
		begin := from - r.before(i)
		end := min(to-r.before(i), s.count())
		pieces = append(pieces, span{s.at(begin), s.at(end - 1), s.step})
		from += end - begin
	}
	slices.SortFunc(pieces, func(a, b span) int { return order(a.first, b.first) })
	return spansText(pieces)
}

// spansText writes spans as a range expression: three values or more at one distance are a range, others are listed.
func spansText(spans []span) string {
	var words []string
	var single []int64
	flush := func() {
		words = append(words, listText(single)...)
		single = nil
	}
	for _, s := range spans {
		if s.count() >= 3 {
			flush()
			words = append(words, s.String())
			continue
		}
		single = append(single, s.first)
		if s.count() == 2 {
			single = append(single, s.last)
		}
	}
	flush()
	return strings.Join(words, ",")
}

// distance is how far a value is from the next one, which is not less.
func distance(values []int64, i int) uint64 { return uint64(values[i+1]) - uint64(values[i]) }

// listText finds progressions in values of increasing order.
func listText(values []int64) (words []string) {
	for i := 0; i < len(values); {
		end := i + 1
		for end+1 < len(values) && distance(values, end) == distance(values, i) {
			end++
		}
		if end < len(values) && end-i >= 2 && distance(values, i) <= math.MaxInt64 {
			words = append(words, span{values[i], values[end], int64(distance(values, i))}.String())
			i = end + 1
			continue
		}
		words = append(words, fmt.Sprint(values[i]))
		i++
	}
	return words
}
