package smartshare

import "fmt"

// Scratch lends the memory of lists that all are given up together, so that one division after another needs none of
// its own, and counts the steps of a division, so that none goes on for ever. A nil Scratch lends new memory and counts
// nothing.
type Scratch struct {
	pools       map[any]pool
	spent, most int // steps; most is 0 if there is no bound
}

// WorkError is the panic of a division that took more steps than it may.
type WorkError struct{ Most int }

func (e WorkError) Error() string {
	return fmt.Sprintf("the division takes more than %d steps", e.Most)
}

// Bound lets a division take so many steps from now on; a division that takes more panics with a WorkError.
func (s *Scratch) Bound(steps int) { s.spent, s.most = 0, steps }

// Allow lets it take so many more.
func (s *Scratch) Allow(steps int) { s.most += steps }

// Most is how many steps a division may take, or could have taken.
func (s *Scratch) Most() int { return s.most }

// Spent is how many steps were taken since the last Bound.
func (s *Scratch) Spent() int { return s.spent }

// Spend counts steps. It is called before they are taken, and before a list of that length is made.
func (s *Scratch) Spend(steps int) {
	if s == nil {
		return
	}
	s.spent += max(0, steps)
	if s.most > 0 && s.spent > s.most {
		panic(WorkError{s.most})
	}
}

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
	s.Spend(n)
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

// Reset takes all lists back. From then on there is room for as much as was lent, and a quarter more; what is four
// times that is given up.
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
