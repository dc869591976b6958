package agenda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// someRange is a range of a few elements of every form, with the entries that it names, in order and each once.
func someRange(r *rand.Rand) (text string, entries []string) {
	var words []string
	for range 1 + r.IntN(6) {
		from, step := r.IntN(40)-8, 1+r.IntN(4)
		switch r.IntN(6) {
		case 0:
			words = append(words, string(rune('a'+r.IntN(6))))
			entries = append(entries, words[len(words)-1])
		case 1, 2:
			words = append(words, strconv.Itoa(from))
			entries = append(entries, words[len(words)-1])
		default:
			to := from + r.IntN(60) - 25
			words = append(words, fmt.Sprintf("%d-%dx%d", from, to, step))
			if to < from {
				step = -step
			}
			for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
				entries = append(entries, strconv.Itoa(n))
			}
		}
	}
	seen := map[string]bool{}
	return strings.Join(words, ","), slices.DeleteFunc(entries, func(e string) bool {
		again := seen[e]
		seen[e] = true
		return again
	})
}

// number is what a renderer reads of START, END and STEP.
func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%q is no number", text)
	}
	return n
}

// TestChunksAgainstSets: whatever a range, its chunks and their order, items have its entries in its order, each once.
// START is not above END and STEP is a step; and in an agenda whose items are named by them, they are exactly the
// numbers of the item. No chunk that is named by them is divided, and all else that reads the agenda knows the same
// items.
func TestChunksAgainstSets(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 4000 {
		text, want := someRange(r)
		spec := Spec{Range: text, Padding: r.IntN(5), Named: r.IntN(3) > 0, Order: []Order{Ascend, Reverse, Binary}[r.IntN(3)]}
		if r.IntN(2) == 0 {
			spec.Chunk = 1 + r.IntN(12)
		} else {
			spec.Partitions = 1 + r.IntN(6)
		}
		a, err := Parse(spec, 0)
		if err != nil {
			t.Fatalf("%+v: %v", spec, err)
		}
		whole, _ := Parse(Spec{Range: text, Chunk: spec.Chunk, Partitions: spec.Partitions}, 0)
		names := make([]string, a.Len()) // before they are ordered
		for n := range a.Len() {
			item := a.Item(n)
			names[a.unordered(n)] = item.Name
			if found, ok := a.Find(item.Name); !ok || found != n {
				t.Fatalf("%+v: item %d, %s, is found as %d, %t", spec, n, item.Name, found, ok)
			}
			if chosen, err := a.Select(item.Name); err != nil || !slices.Equal(chosen, []int{n}) {
				t.Fatalf("%+v: item %d, %s, is selected as %v: %v", spec, n, item.Name, chosen, err)
			}
			checkNumbers(t, spec, item)
		}
		if got := expanded(t, strings.Join(names, ",")); !slices.Equal(got, want) {
			t.Fatalf("%+v: items %v\nwant %v", spec, got, want)
		}
		for n := range whole.Len() { // a chunk that needs no division is one item
			if item := whole.Item(n); spec.Named && named(t, item) && !slices.Contains(names, item.Name) {
				t.Fatalf("%+v: chunk %s is divided, into %v", spec, item.Name, names)
			}
		}
	}
}

// expanded is the entries of a list of names of items.
func expanded(t *testing.T, text string) (entries []string) {
	a, err := Parse(Spec{Range: text}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range a.Len() {
		entries = append(entries, a.Item(n).Name)
	}
	return entries
}

// named says whether START, END and STEP are the numbers of the item.
func named(t *testing.T, item Item) bool {
	var all []int
	for _, word := range expanded(t, item.Name) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return word == item.Name
		}
		all = append(all, n)
	}
	slices.Sort(all)
	var rendered []int
	for n := number(t, item.Start); n <= number(t, item.End); n += number(t, item.Step) {
		rendered = append(rendered, n)
	}
	return slices.Equal(all, rendered)
}

func checkNumbers(t *testing.T, spec Spec, item Item) {
	t.Helper()
	if step := number(t, item.Step); step < 1 {
		t.Fatalf("%+v: item %+v", spec, item)
	}
	first, noNumber := strconv.Atoi(item.Start)
	last, noNumberEither := strconv.Atoi(item.End)
	if noNumber == nil && noNumberEither == nil && first > last {
		t.Fatalf("%+v: item %+v ends before it starts", spec, item)
	}
	if spec.Named && !named(t, item) {
		t.Fatalf("%+v: START, END and STEP do not name item %+v", spec, item)
	}
}

// TestNamedItems: the ranges of which renderers made too many numbers, too few or none.
func TestNamedItems(t *testing.T) {
	for _, c := range []struct {
		text  string
		chunk int
		want  string
	}{
		{"5-1", 5, "5-1:1..5x1"},
		{"9-1x2", 5, "9-1x2:1..9x2"},
		{"1-10,12-17,21", 8, "1-8:1..8x1 9-10:9..10x1 12-17:12..17x1 21:21..21x1"},
		{"1-3,7", 4, "1-3:1..3x1 7:7..7x1"},
		{"3,1,2", 3, "3,1-2:1..3x1"},
		{"a,b,3", 3, "a:a..ax1 b:b..bx1 3:3..3x1"},
	} {
		a, err := Parse(Spec{Range: c.text, Chunk: c.chunk, Named: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for n := range a.Len() {
			item := a.Item(n)
			got += fmt.Sprintf(" %s:%s..%sx%s", item.Name, item.Start, item.End, item.Step)
		}
		if got[1:] != c.want {
			t.Errorf("%s in chunks of %d: %s\nwant %s", c.text, c.chunk, got[1:], c.want)
		}
	}
}

// TestLongestName is the longest of all names, or a little more.
func TestLongestName(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		text, _ := someRange(r)
		a, err := Parse(Spec{Range: strings.Repeat("averylonglabelindeed"+strconv.Itoa(r.IntN(9))+",", r.IntN(4)) + text, Chunk: 1 + r.IntN(20), Named: r.IntN(2) == 0}, 0)
		if err != nil {
			t.Fatal(err)
		}
		longest := 0
		for n := range a.Len() {
			longest = max(longest, len(a.Item(n).Name))
		}
		if got := a.LongestName(); got < longest || got > max(longest, 49) {
			t.Fatalf("%q: the longest name has %d bytes, not %d", a, longest, got)
		}
	}
}

// TestPreviewsOfNamedChunks: the preview and the rest have each entry of the range once, and each of their items is
// named.
func TestPreviewsOfNamedChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for range 1500 {
		text, want := someRange(r)
		spec := Spec{Range: text, Named: true}
		if r.IntN(2) == 0 {
			spec.Chunk = 2 + r.IntN(8)
		} else {
			spec.Partitions = 1 + r.IntN(5)
		}
		a, err := Parse(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		list := ""
		if r.IntN(2) == 0 && a.size > 1 {
			list = a.Item(r.IntN(a.Len())).Name
		}
		first, rest, err := a.Preview(spec, list)
		if err != nil {
			t.Fatalf("%+v, preview %q: %v", spec, list, err)
		}
		var got []string
		for _, part := range []Spec{first, rest} {
			if part.Range == "" {
				continue
			}
			of, err := Parse(part, 0)
			if err != nil {
				t.Fatalf("%+v, preview %q: %+v: %v", spec, list, part, err)
			}
			for n := range of.Len() {
				checkNumbers(t, part, of.Item(n))
				got = append(got, expanded(t, of.Item(n).Name)...)
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("%+v, preview %q: %v\nwant %v", spec, list, got, want)
		}
	}
}
