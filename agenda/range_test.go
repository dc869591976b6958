package agenda

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parse(t testing.TB, spec Spec) *Agenda {
	t.Helper()
	a, err := Parse(spec, 1_000_000)
	if err != nil {
		t.Fatalf("Parse(%+v): %v", spec, err)
	}
	return a
}

func names(a *Agenda) []string {
	list := make([]string, a.Len())
	for i := range list {
		list[i] = a.Item(i).Name
	}
	return list
}

func TestRangeSyntax(t *testing.T) {
	for _, c := range []struct{ text, items, canonical string }{
		{"5", "5", "5"},
		{"1,2,3", "1 2 3", "1-3"},
		{"1-5", "1 2 3 4 5", "1-5"},
		{"1-10x3", "1 4 7 10", "1-10x3"},
		{"1-11x3", "1 4 7 10", "1-10x3"},
		{"1-5x2,10-12", "1 3 5 10 11 12", "1-5x2,10-12"},
		{"-100", "-100", "-100"},
		{"+5", "5", "5"},
		{"-2-2", "-2 -1 0 1 2", "-2-2"},
		{"-10--1x2", "-10 -8 -6 -4 -2", "-10--2x2"},
		{"-40-30x35,1,3,4,12", "-40 -5 30 1 3 4 12", "-40-30x35,1,3-4,12"},
		{"3--2", "3 2 1 0 -1 -2", "3--2"},
		{"10-1x3", "10 7 4 1", "10-1x3"},
		{"7-7", "7", "7"},
		{"1-5x100", "1", "1"},
		{"007,0010", "7 10", "7-10x3"},
		{" 1 , 2\t,\n3 ", "1 2 3", "1-3"},
		{"ls,set,echo HI", "ls set echo HI", "ls,set,echo HI"},
		{"a-b,shot_5-x,x1", "a-b shot_5-x x1", "a-b,shot_5-x,x1"},
		{"1,1,2,1", "1 2", "1-2"},
		{"5-1,1-7", "5 4 3 2 1 6 7", "5-1,6-7"},
		{"1-9x2,2-8x2,3", "1 3 5 7 9 2 4 6 8", "1-9x2,2-8x2"},
		{"b,a,b,1,a,01", "b a 1", "b,a,1"},
		{"1-3,a,2-5,a", "1 2 3 a 4 5", "1-3,a,4-5"},
		{"1,5,6,7", "1 5 6 7", "1,5-7"},
		{"999999999999999", "999999999999999", "999999999999999"},
	} {
		a := parse(t, Spec{Range: c.text})
		if got := strings.Join(names(a), " "); got != c.items {
			t.Errorf("%q: items %q, want %q", c.text, got, c.items)
		}
		if got := a.String(); got != c.canonical {
			t.Errorf("%q: canonical %q, want %q", c.text, got, c.canonical)
		}
	}
}

func TestRangeRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"5-", `range element 1 (column 1) "5-": has no last number; write 5 alone or 5-14`},
		{"1-10x0", `range element 1 (column 1) "1-10x0": has a step of 0; write 1-10 or 1-10x2`},
		{"1-5x-1", `range element 1 (column 1) "1-5x-1": has a negative step; steps are positive, and 5-1 runs the other way round`},
		{"1-5x", `range element 1 (column 1) "1-5x": has no step after the x; write 1-5 or 1-5x2`},
		{"5x2", `range element 1 (column 1) "5x2": has a step but no last number; write 5-14x2 or 5 alone`},
		{"a,, b", `range element 2 (column 3) "": is empty; remove the comma or write a number or label there`},
		{"1,2,", `range element 3 (column 5) "": is empty`},
		{",1", `range element 1 (column 1) "": is empty`},
		{"é,  7up", `range element 2 (column 5) "7up": starts as a number, but "up" is not understood; write 5, 1-100,`},
		{"1-10-20", `but "-20" is not understood`},
		{"1 - 10", `but " - 10" is not understood`},
		{"--5", `but "--5" is not understood`},
		{"-", `but "-" is not understood`},
		{"+", `but "+" is not understood`},
		{"1-10x2y", `but "y" is not understood`},
		{"1-10X2", `but "X2" is not understood`},
		{"1.5", `but ".5" is not understood`},
		{"1–10", `but "–10" is not understood`},
		{"−5", `but "−5" is not understood`},
		{"٣", `is not understood`},
		{"1000000000000000", "has a number of more than 15 digits"},
		{"1-99999999999999999999999", "has a number of more than 15 digits"},
		{"1-10x99999999999999999999999", "has a number of more than 15 digits"},
		{"a\x00b", "holds a NUL byte"},
		{"a\xff", "is not valid UTF-8"},
		{strings.Repeat("x", 4097), "is a label of 4097 bytes; the limit is 4096"},
	} {
		_, err := Parse(Spec{Range: c.text}, 100)
		var refusal *RangeError
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: %v\nwant %s", c.text, err, c.want)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%.30q: error of %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Range: "1-9", Chunk: -1}, "chunk -1: must be 1 or more"},
		{Spec{Range: "1-9", Partitions: -2}, "partitions -2: must be 1 or more"},
		{Spec{Range: "1-9", Chunk: 2, Partitions: 2}, "exclude each other"},
		{Spec{Range: "1-9", Padding: -1}, "padding -1: must be from 0 to 32"},
		{Spec{Range: "1-9", Padding: 33}, "padding 33"},
		{Spec{Range: "1-9", Order: "random"}, `order "random": must be ascend, reverse or binary`},
		{Spec{Range: "  "}, "is blank"},
		{Spec{}, "runs 0: a job without a range must run its command at least once"},
		{Spec{Runs: -1}, "runs -1"},
		{Spec{Runs: 3, Chunk: 2}, "need a range"},
		{Spec{Runs: 3, Order: Reverse}, "need a range"},
	} {
		_, err := Parse(c.spec, 100)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.spec, err, c.want)
		}
	}
}

func TestTooManyItems(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		count int64
		words string
	}{
		{Spec{Range: "1-1000000000"}, 1_000_000_000, "1,000,000,000 items, more than the 1,000,000 that supervisor_max_items allows"},
		{Spec{Range: "1-1000000000", Chunk: 1000}, 1_000_000_000, "supervisor_max_items"},
		{Spec{Range: "1-1000001"}, 1_000_001, "1,000,001 items"},
		{Spec{Range: "1-1000000,a"}, 1_000_001, "1,000,001 items"},
		{Spec{Range: "-999999999999999-999999999999999"}, 1_999_999_999_999_999, "1,999,999,999,999,999 items"},
		{Spec{Range: strings.Repeat("-999999999999999-999999999999999,", 5000) + "1"}, math.MaxInt64, "at least 9,223,372,036,854,775,807 items"},
		{Spec{Runs: 2_000_000}, 2_000_000, "2,000,000 items"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(c.spec, 1_000_000)
		runtime.ReadMemStats(&after)
		var over *LimitError
		if !errors.As(err, &over) || over.Count != c.count || over.Limit != 1_000_000 || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%.40s: %v, want %d and %q", c.spec.Range, err, c.count, c.words)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%.40s: %d bytes were allocated to refuse it", c.spec.Range, used)
		}
	}
	if _, err := Parse(Spec{Range: "1-2000000"}, 0); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	if _, err := Parse(Spec{Range: "1-100000001"}, 0); err == nil {
		t.Error("MaxItems does not act")
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		numbers []int
		want    string
	}{
		{nil, ""},
		{[]int{4}, "4"},
		{[]int{1, 3, 5, 7, 9, 11, 13}, "1-13x2"},
		{[]int{1, 2, 3, 4, 5}, "1-5"},
		{[]int{5, 4, 3}, "5-3"},
		{[]int{9, 6, 3, 0, -3}, "9--3x3"},
		{[]int{1, 2}, "1-2"},
		{[]int{1, 6}, "1-6x5"},
		{[]int{1, 6, 8}, "1,6,8"},
		{[]int{1, 2, 3, 7, 9, 11, 20}, "1-3,7-11x2,20"},
		{[]int{-3, -2, -1}, "-3--1"},
		{[]int{3, 3}, "3,3"},
		{[]int{math.MinInt64, math.MaxInt64, 1}, "-9223372036854775808,9223372036854775807,1"},
		{[]int{1, math.MinInt64 + 1}, "1,-9223372036854775807"},
	} {
		if got := join(c.numbers); got != c.want {
			t.Errorf("join(%v) = %q, want %q", c.numbers, got, c.want)
		}
	}
}

func TestJoinReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(-30, 30), 1, 40, rapid.ID[int]).Draw(t, "numbers")
		a, err := Parse(Spec{Range: join(numbers)}, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]string, len(numbers))
		for i, n := range numbers {
			want[i] = strconv.Itoa(n)
		}
		if diff := cmp.Diff(want, names(a)); diff != "" {
			t.Fatalf("%s: %s", join(numbers), diff)
		}
	})
}

// drawElement is the text of an element and its entries, spelt out.
func drawElement(t *rapid.T) (string, []string) {
	if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
		label := rapid.SampledFrom([]string{"a", "b", "x-1", "echo HI", "ü"}).Draw(t, "label")
		return label, []string{label}
	}
	from := rapid.IntRange(-25, 25).Draw(t, "from")
	to := rapid.IntRange(-25, 25).Draw(t, "to")
	step := rapid.IntRange(1, 7).Draw(t, "step")
	var entries []string
	for i := range max(to-from, from-to)/step + 1 {
		if to < from {
			entries = append(entries, strconv.Itoa(from-i*step))
		} else {
			entries = append(entries, strconv.Itoa(from+i*step))
		}
	}
	return fmt.Sprintf("%d-%dx%d", from, to, step), entries
}

func drawRange(t *rapid.T) (string, []string) {
	var texts, distinct []string
	seen := map[string]bool{}
	for range rapid.IntRange(1, 8).Draw(t, "elements") {
		text, entries := drawElement(t)
		texts = append(texts, text)
		for _, e := range entries {
			if !seen[e] {
				seen[e] = true
				distinct = append(distinct, e)
			}
		}
	}
	return strings.Join(texts, rapid.SampledFrom([]string{",", ", ", " ,\t"}).Draw(t, "comma")), distinct
}

// Every range means the entries of its elements, each once, and is written back as itself.
func TestRangeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, entries := drawRange(t)
		a, err := Parse(Spec{Range: text}, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entries, names(a)); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
		again, err := Parse(Spec{Range: a.String()}, 10_000)
		if err != nil || again.String() != a.String() || !cmp.Equal(names(again), entries) {
			t.Fatalf("%s is written %s: %v, %v", text, a, again, err)
		}
		// What a range without repetitions counts before it is expanded is what it has.
		if count, _, err := countEntries(a.String()); err != nil || count != int64(a.Len()) {
			t.Fatalf("%s counts %d, has %d, %v", a, count, a.Len(), err)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, seed := range []string{
		"1-100", "5", "-100-100", "-10--1x2", "100--10", "-40-30x4,1,3,4,12", "ls,set,echo HI", "1-5x2,10-12",
		"5-", "1-10x0", "1-5x-1", "1-1000000000", ",", " ", "1,,2", "--", "+1-+5x+2", "1–5", "a\x00", "1-9x2,2-8x2,3",
		"99999999999999999999", "a,a,1,01,001", "0x10", "x", "1-5x2x3",
	} {
		f.Add(seed, uint8(0), uint8(0), uint8(0))
		f.Add(seed, uint8(3), uint8(1), uint8(4))
	}
	f.Fuzz(func(t *testing.T, text string, chunk, order, padding uint8) {
		spec := Spec{Range: text, Chunk: int(chunk), Padding: int(padding % 33), Order: []Order{Ascend, Reverse, Binary}[order%3]}
		a, err := Parse(spec, 3000)
		if err != nil || text == "" {
			return
		}
		spec.Range = a.String()
		again, err := Parse(spec, 3000)
		if err != nil || again.Len() != a.Len() || again.String() != a.String() {
			t.Fatalf("%q is written %q: %v", text, a, err)
		}
		for n := range a.Len() {
			item := a.Item(n)
			if again.Item(n) != item {
				t.Fatalf("%q: item %d is %+v, and %+v from %q", text, n, item, again.Item(n), a)
			}
			if at, ok := a.Find(item.Name); !ok || at != n {
				t.Fatalf("%q: Find(%q) = %d, %v, want %d", text, item.Name, at, ok, n)
			}
		}
	})
}

func TestMillionItemsAreSmall(t *testing.T) {
	for _, text := range []string{"1-1000000", "1-500000,500001-999999,-1"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := parse(t, Spec{Range: text, Order: Reverse, Padding: 7})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10 || a.Len() != 1_000_000 {
			t.Errorf("%s: %d bytes for %d items", text, used, a.Len())
		}
	}
}

func BenchmarkParseMillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(Spec{Range: "1-1000000"}, 1_000_000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseMillionInterleaved(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(Spec{Range: "1-999999x2,2-1000000x2"}, 1_000_000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefuseBillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(Spec{Range: "1-1000000000"}, 1_000_000); err == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkItem(b *testing.B) {
	a := parse(b, Spec{Range: "1-1000000"})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_ = a.Item(n)
		n = (n + 7919) % a.Len()
	}
}

// join writes numbers as a range: 1,2,3,4,5 as 1-5 and 1,3,5,7 as 1-7x2. The order stays; numbers that
// follow themselves are written again.
func join(numbers []int) string {
	l := &list{}
	for _, number := range numbers {
		l.addNumber(int64(number))
	}
	l.flush(true)
	return l.String()
}
