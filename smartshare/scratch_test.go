package smartshare

import "testing"

// TestScratchLendsZeroes: whatever a list was used for, the next one in its place is empty, and no list grows into another.
func TestScratchLendsZeroes(t *testing.T) {
	var s Scratch
	for round := range 6 {
		a, b := Lend[int](&s, 3+round), Lend[int](&s, 4)
		for n := range a {
			if a[n] != 0 {
				t.Fatalf("round %d: a lent list is %v", round, a)
			}
			a[n] = 1
		}
		for n := range append(a, 7) {
			if n < len(b) && b[n] != 0 {
				t.Fatalf("round %d: another list is %v", round, b)
			}
		}
		s.Reset()
	}
	if n := testing.AllocsPerRun(10, func() { Lend[int](&s, 8); s.Reset() }); n > 0 {
		t.Errorf("%v allocations for a list for which there is memory", n)
	}
	if l := s.pools[(*int)(nil)].(*poolOf[int]); cap(l.list) > 4*8 {
		t.Errorf("room for %d numbers is kept where 8 were lent", cap(l.list))
	}
}
