package smartshare

// Scratch lends the memory of lists that all are given up together, so that one division after another needs none of its
// own. A nil Scratch lends new memory.
type Scratch struct{ pools map[any]pool }

// pool is the memory for lists of one type.
type pool interface{ reset() }

type poolOf[T any] struct {
	list   []T
	lent   int // of the list
	beyond int // that the list had no room for
}

// Lend gives a list of n zero values that is valid until the next Reset.
func Lend[T any](s *Scratch, n int) []T {
	if s == nil {
		return make([]T, n)
	}
	p, known := s.pools[(*T)(nil)].(*poolOf[T])
	if !known {
		p = &poolOf[T]{}
		if s.pools == nil {
			s.pools = make(map[any]pool)
		}
		s.pools[(*T)(nil)] = p
	}
	if n > len(p.list)-p.lent {
		p.beyond += n
		return make([]T, n)
	}
	lent := p.list[p.lent : p.lent+n : p.lent+n]
	p.lent += n
	clear(lent)
	return lent
}

// Reset takes all lists back. From then on there is room for as much as was lent, and a quarter more; what is four times
// that is given up.
func (s *Scratch) Reset() {
	for _, p := range s.pools { // each by itself: the order does not matter
		p.reset()
	}
}

func (p *poolOf[T]) reset() {
	if wanted := p.lent + p.beyond; p.beyond > 0 || len(p.list) > 4*wanted {
		p.list = make([]T, wanted+wanted/4)
	}
	p.lent, p.beyond = 0, 0
}
