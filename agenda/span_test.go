package agenda

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func itemsOf(spans []Span) (items []int) {
	for _, s := range spans {
		for n := s.First; n <= s.Last; n += s.Step {
			items = append(items, n)
		}
	}
	slices.Sort(items)
	return items
}

func drawSpan(r *rapid.T, most int) Span {
	first := rapid.IntRange(0, most).Draw(r, "first")
	step := rapid.IntRange(1, 9).Draw(r, "step")
	s, _ := Span{first, first + step*rapid.IntRange(0, (most-first)/step).Draw(r, "more"), step}.proper()
	return s
}

// What is left of a span without another is what a set would have, in spans that are whole.
func TestSpanWithout(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, off := drawSpan(r, 60), drawSpan(r, 60)
		var want []int
		for n := s.First; n <= s.Last; n += s.Step {
			if !off.Has(n) {
				want = append(want, n)
			}
		}
		left := s.Without(off)
		if got := itemsOf(left); !slices.Equal(got, want) {
			t.Fatalf("%v without %v is %v: items %v, want %v", s, off, left, got, want)
		}
		for _, l := range left {
			if l.Step < 1 || (l.Last-l.First)%l.Step != 0 || l.First == l.Last && l.Step != 1 {
				t.Fatalf("%v without %v has the span %v", s, off, l)
			}
		}
	})
}

func TestSpansOfRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		items := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOf(rapid.IntRange(0, 80)).Draw(r, "items"))))
		if got := itemsOf(SpansOf(items)); !slices.Equal(got, items) {
			t.Fatalf("%v became %v", items, got)
		}
	})
}

// The fewer of two ways: a large job's pattern never falls into as many pieces as it has items.
func TestSpanWithoutIsShort(t *testing.T) {
	all := Span{0, 999_999, 1}
	for step, most := range map[int]int{2: 1, 3: 2, 7: 6, 997: 1004, 5000: 201, 999_999: 1} {
		off, _ := all.From(0)
		off.Step, off.Last = step, 999_999/step*step
		if got := len(all.Without(off)); got > most {
			t.Errorf("without each %dth: %d spans, want at most %d", step, got, most)
		}
	}
}

func TestPick(t *testing.T) {
	million, err := Parse(Spec{Range: "1-1000000"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Parse(Spec{Range: "1-100", Chunk: 10}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		a    *Agenda
		expr string
		want []Span
	}{
		{million, "1-1000000", []Span{{0, 999_999, 1}}},
		{million, "1-1000000x2", []Span{{0, 999_998, 2}}},
		{million, "1000000-1x2", []Span{{1, 999_999, 2}}},
		{million, "1-1000000x2,2-1000000x6", []Span{{0, 999_998, 2}, {1, 999_997, 6}}},
		{million, "7,9", []Span{{6, 6, 1}, {8, 8, 1}}},
		{chunks, "1-20,91-100", []Span{{0, 1, 1}, {9, 9, 1}}},
		{chunks, "1-10,21-25,26-30", []Span{{0, 0, 1}, {2, 2, 1}}},
	} {
		got, err := tc.a.Pick(tc.expr)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v; want %v", tc.expr, got, err, tc.want)
		}
	}
}

func TestDepth(t *testing.T) {
	if got := Depth([]Span{{0, 9, 1}, {10, 20, 2}, {11, 21, 2}, {30, 30, 1}}); got != 2 {
		t.Errorf("depth %d", got)
	}
}

// The text of items is read as the same items, whatever the order and size of items; a regular choice stays short.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := Spec{Range: rapid.SampledFrom([]string{"1-40", "5,3,9-1,20-60x5", "a,b,7,c,8-12", "-5-5"}).Draw(r, "range"), Chunk: rapid.SampledFrom([]int{0, 0, 3}).Draw(r, "chunk"),
			Order: rapid.SampledFrom([]Order{Ascend, Reverse, Binary}).Draw(r, "order")}
		a, err := Parse(spec, 1000)
		if err != nil {
			t.Fatal(err)
		}
		items := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(0, a.Len()-1), 1, 40).Draw(r, "items"))))
		text := a.Text(SpansOf(items))
		got, err := a.Pick(text)
		if err != nil || !slices.Equal(itemsOf(got), items) {
			t.Fatalf("%v is %s, which is read as %v, %v", items, text, itemsOf(got), err)
		}
	})
	a, err := Parse(Spec{Range: "1-100000", Order: Reverse}, 1_000_000)
	if text := a.Text([]Span{{0, 99_999, 1}}); err != nil || len(text) > 20 {
		t.Errorf("%.100s %v", text, err)
	}
}
