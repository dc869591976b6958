package items

import (
	"iter"
	"math/bits"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// Each are the items of spans.
func Each(spans []agenda.Span) iter.Seq[facts.ItemNo] {
	return func(yield func(facts.ItemNo) bool) {
		for _, s := range spans {
			for n := s.First; n <= s.Last; n += s.Step {
				if !yield(facts.ItemNo(n)) {
					return
				}
			}
		}
	}
}

// Set is a set of item numbers: a bit an item.
type Set struct {
	words []uint64
	Count int
}

// Add puts an item of a job of so many in.
func (s *Set) Add(n, items int) {
	if s.words == nil {
		s.words = make([]uint64, (items+63)/64)
	}
	if s.words[n/64]&(1<<(n%64)) == 0 {
		s.words[n/64] |= 1 << (n % 64)
		s.Count++
	}
}

// Has says whether an item is in.
func (s *Set) Has(n int) bool { return s.words != nil && s.words[n/64]&(1<<(n%64)) != 0 }

// Remove takes an item out.
func (s *Set) Remove(n int) {
	if s.words != nil && s.words[n/64]&(1<<(n%64)) != 0 {
		s.words[n/64] &^= 1 << (n % 64)
		s.Count--
	}
}

// Next is the lowest item from n on; the set has one.
func (s *Set) Next(n int) int {
	word := s.words[n/64] &^ (1<<(n%64) - 1)
	for at := n / 64; ; word = s.words[at] {
		if word != 0 {
			return at*64 + bits.TrailingZeros64(word)
		}
		at++
	}
}
