package smartshare

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// outcome is what one division costs, best first when compared.
type outcome struct {
	levels []int     // ascending; larger is better
	keys   []float64 // of the steps taken, ascending; smaller is better (with weights)
	stops  int
	got    []int
	work   int64
	tie    int64
	waits  [2]int // starts that wait for an end, by kind
}

func (a outcome) compare(b outcome, weighted bool) int {
	fair := -slices.Compare(a.levels, b.levels)
	if weighted {
		fair = cmp.Or(-cmp.Compare(len(a.keys), len(b.keys)), slices.Compare(a.keys, b.keys))
	}
	return cmp.Or(fair, cmp.Compare(a.stops, b.stops), -slices.Compare(a.got, b.got),
		cmp.Compare(a.work, b.work), cmp.Compare(a.tie, b.tie), slices.Compare(a.waits[:], b.waits[:]))
}

// wait counts the starts of a class that wait for an end, primaries first in the vacant slots.
func (o *outcome) wait(f *Field, class int, starts [2]int) {
	if f.Vacant == nil {
		return
	}
	vacant := f.Vacant[class]
	for kind, n := range starts {
		now := min(n, vacant)
		vacant -= now
		o.waits[kind] += n - now
	}
}

// search finds the best division by trying every one.
type search struct {
	f        *Field
	weighted bool
	grant    []int
	x        [][]int // secondaries by claim and class
	y        [][]int // primaries by claim and class
	room     []int
	best     *outcome
}

func (s *search) run(f *Field, weighted bool) outcome {
	s.f, s.weighted = f, weighted
	s.room = slices.Clone(f.Capacity)
	s.x, s.y = make([][]int, len(f.Claims)), make([][]int, len(f.Claims))
	for i := range f.Claims {
		s.x[i], s.y[i] = make([]int, len(f.Capacity)), make([]int, len(f.Capacity))
	}
	s.grant = make([]int, len(f.Claims))
	for i := range f.Claims {
		for s.grant[i] < f.Claims[i].Need {
			s.grant[i]++
			if !s.limited() || !s.placeable(0, 0, s.grant[0]) {
				s.grant[i]--
				break
			}
		}
	}
	s.primaries(0, 0, s.grant[0])
	return *s.best
}

// limited says whether the limits allow the grants with the secondaries tried.
func (s *search) limited() bool {
	return !slices.ContainsFunc(s.f.Limits, func(l Limit) bool {
		n := 0
		for _, i := range l.Claims {
			n += s.grant[i] + sum(s.x[i])
		}
		return n > max(0, l.Room)
	})
}

// placeable says whether the grants from claim i on can be placed, claim i having left to place from class c on.
func (s *search) placeable(i, c, left int) bool {
	if left == 0 {
		if i++; i == len(s.f.Claims) {
			return true
		}
		return s.placeable(i, 0, s.grant[i])
	}
	if c == len(s.room) {
		return false
	}
	most := 0
	if s.f.opens(s.f.Claims[i].Group, c) {
		most = min(left, s.room[c])
	}
	for n := range most + 1 {
		s.room[c] -= n
		ok := s.placeable(i, c+1, left-n)
		s.room[c] += n
		if ok {
			return true
		}
	}
	return false
}

func (s *search) primaries(i, c, left int) {
	switch {
	case left == 0:
		if i+1 < len(s.f.Claims) {
			s.primaries(i+1, 0, s.grant[i+1])
		} else {
			s.secondaries(0, 0)
		}
		return
	case c == len(s.room):
		return
	}
	s.primaries(i, c+1, left)
	if s.f.opens(s.f.Claims[i].Group, c) && s.room[c] > 0 {
		s.room[c]--
		s.y[i][c]++
		s.primaries(i, c, left-1)
		s.y[i][c]--
		s.room[c]++
	}
}

func (s *search) secondaries(i, c int) {
	if i == len(s.f.Claims) {
		s.judge()
		return
	}
	if c == len(s.room) {
		s.secondaries(i+1, 0)
		return
	}
	claim := &s.f.Claims[i]
	most := s.room[c]
	if !s.f.opens(claim.Group, c) {
		most = min(most, heldIn(claim, c))
	}
	limit := max(0, claim.Cap-claim.Floor)
	if s.grant[i] < claim.Need {
		limit = 0
	}
	most = min(most, limit-sum(s.x[i]))
	for n := range most + 1 {
		s.x[i][c] = n
		s.room[c] -= n
		s.secondaries(i, c+1)
		s.room[c] += n
	}
	s.x[i][c] = 0
}

func heldIn(c *Claim, class int) int {
	for _, h := range c.Held {
		if h.Class == class {
			return h.Count
		}
	}
	return 0
}

func sum(list []int) int {
	total := 0
	for _, n := range list {
		total += n
	}
	return total
}

func (s *search) judge() {
	if !s.limited() {
		return
	}
	o := outcome{}
	for i := range s.f.Claims {
		c := &s.f.Claims[i]
		n := c.Floor + sum(s.x[i])
		o.levels, o.got = append(o.levels, n), append(o.got, n)
		for k := c.Floor + 1; k <= n; k++ {
			o.keys = append(o.keys, float64(k)/c.Weight)
		}
		for _, h := range c.Held {
			for k := s.x[i][h.Class]; k < h.Count; k++ {
				o.stops++
				o.work += h.KeepValues[k].Work
				o.tie += int64(h.KeepValues[k].Tie)
			}
		}
	}
	for c := range s.room {
		var starts [2]int
		for i := range s.f.Claims {
			starts[primary] += s.y[i][c]
			starts[secondary] += max(0, s.x[i][c]-heldIn(&s.f.Claims[i], c))
		}
		o.wait(s.f, c, starts)
	}
	slices.Sort(o.levels)
	slices.Sort(o.keys)
	if s.best == nil || o.compare(*s.best, s.weighted) < 0 {
		s.best = &o
	}
}

// judgeDivision turns an answer into an outcome and checks that it can be.
func judgeDivision(t *rapid.T, f *Field, d Division) outcome {
	o := outcome{}
	used := make([]int, len(f.Capacity))
	var starts [2][]int
	for kind := range starts {
		starts[kind] = make([]int, len(f.Open))
	}
	for i := range f.Claims {
		c := &f.Claims[i]
		n := d.Target[i]
		o.levels, o.got = append(o.levels, n), append(o.got, n)
		for k := c.Floor + 1; k <= n; k++ {
			o.keys = append(o.keys, float64(k)/c.Weight)
		}
		kept := c.Floor
		for k, h := range c.Held {
			kept += d.Keep[i][k]
			used[h.Class] += d.Keep[i][k]
			for m := d.Keep[i][k]; m < h.Count; m++ {
				o.stops++
				o.work += h.KeepValues[m].Work
				o.tie += int64(h.KeepValues[m].Tie)
			}
		}
		if kept > n {
			t.Fatalf("claim %d keeps %d of %d", i, kept, n)
		}
		starts[primary][c.Group] += d.Grant[i]
		starts[secondary][c.Group] += n - kept
	}
	in := make([][2]int, len(f.Capacity))
	for kind := range starts {
		for g := range f.Open {
			for c, n := range d.Starts[kind][g] {
				used[c] += n
				in[c][kind] += n
				starts[kind][g] -= n
				if n != 0 && !f.opens(g, c) {
					t.Fatalf("group %d starts in class %d", g, c)
				}
			}
			if starts[kind][g] != 0 {
				t.Fatalf("group %d: %d starts without a place", g, starts[kind][g])
			}
		}
	}
	for c := range used {
		o.wait(f, c, in[c])
		if used[c] > f.Capacity[c] {
			t.Fatalf("class %d holds %d of %d", c, used[c], f.Capacity[c])
		}
	}
	slices.Sort(o.levels)
	slices.Sort(o.keys)
	return o
}

// dice draws evenly from a seed; rapid's own ranges prefer small numbers.
type dice uint64

func (d *dice) roll(least, most int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return least + int((z^z>>31)%uint64(most-least+1))
}

// drawField makes a small field in which what is held fits.
func drawField(d *dice, weighted bool) *Field {
	f := &Field{}
	classes, most := d.roll(1, 3), d.roll(1, 3)
	room := make([]int, classes)
	for c := range room {
		room[c] = d.roll(0, most+1)
		f.Capacity = append(f.Capacity, room[c])
	}
	for range d.roll(1, 3) {
		var open []int
		for c := range classes {
			if d.roll(0, 2) > 0 {
				open = append(open, c)
			}
		}
		f.Open = append(f.Open, open)
	}
	full := d.roll(0, 2) > 0
	for range d.roll(1, 4) {
		c := Claim{Group: d.roll(0, len(f.Open)-1), Floor: d.roll(0, 3) / 3, Cap: d.roll(0, 6), Weight: 1}
		if weighted {
			c.Weight = float64(d.roll(1, 3))
		}
		tie := 0
		for class := range classes {
			n := min(room[class], d.roll(0, 3))
			if full {
				n = d.roll(0, room[class])
			}
			room[class] -= n
			if n == 0 {
				continue
			}
			h := Holding{Class: class, Count: n}
			for range n {
				tie++
				h.KeepValues = append(h.KeepValues, KeepValue{Work: int64(d.roll(0, 5)), Tie: tie})
			}
			slices.SortFunc(h.KeepValues, func(a, b KeepValue) int { return cmp.Or(cmp.Compare(b.Work, a.Work), b.Tie-a.Tie) })
			c.Held = append(c.Held, h)
		}
		if len(c.Held) == 0 || d.roll(0, 3) == 0 {
			c.Need = d.roll(0, 2)
		}
		f.Claims = append(f.Claims, c)
	}
	if d.roll(0, 2) > 0 {
		for c := range room {
			f.Vacant = append(f.Vacant, d.roll(0, room[c]))
		}
	}
	return f
}

// fieldsPerProperty is a thousand, or what QB_SHARE_FARMS says (make sim-share).
func fieldsPerProperty(t *testing.T) int {
	text := os.Getenv("QB_SHARE_FARMS")
	if text == "" {
		return 1000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("QB_SHARE_FARMS=%s: a number of at least 100", text)
	}
	return n
}

func testDivideExact(t *testing.T, weighted bool) {
	per := fieldsPerProperty(t) / 100
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.Uint64().Draw(t, "seed"))
		for range per {
			checkDivide(t, drawField(&d, weighted), weighted)
		}
	})
}

func checkDivide(t *rapid.T, f *Field, weighted bool) {
	var s search
	want := s.run(f, weighted)
	d := f.Divide()
	got := judgeDivision(t, f, d)
	if !slices.Equal(d.Grant, s.grant) {
		t.Fatalf("granted %v, want %v\n%s", d.Grant, s.grant, describe(f))
	}
	if got.compare(want, weighted) != 0 {
		t.Fatalf("got  %+v\nwant %+v\n%s", got, want, describe(f))
	}
}

func describe(f *Field) string {
	text := fmt.Sprintf("capacity %v vacant %v open %v limits %v\n", f.Capacity, f.Vacant, f.Open, f.Limits)
	for _, c := range f.Claims {
		text += fmt.Sprintf("%+v\n", c)
	}
	return text
}

// TestDivideIsExact compares with an exhaustive search: primaries, levels, stops, odd units, lost work, waits.
func TestDivideIsExact(t *testing.T) { testDivideExact(t, false) }

func TestDivideWeightedIsExact(t *testing.T) { testDivideExact(t, true) }
