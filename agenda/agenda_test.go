package agenda

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func items(a *Agenda) []Item {
	list := make([]Item, a.Len())
	for i := range list {
		list[i] = a.Item(i)
	}
	return list
}

func TestItems(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
		want []Item
	}{
		{"without a range", Spec{Runs: 2}, []Item{{"0", "0", "0", "1"}, {"1", "1", "1", "1"}}},
		{"runs do not matter with a range", Spec{Range: "7", Runs: 3}, []Item{{"7", "7", "7", "1"}}},
		{"numbers", Spec{Range: "9-10", Padding: 4}, []Item{{"9", "0009", "0009", "1"}, {"10", "0010", "0010", "1"}}},
		{"padding counts digits", Spec{Range: "-5,12345", Padding: 4}, []Item{{"-5", "-0005", "-0005", "1"}, {"12345", "12345", "12345", "1"}}},
		{"padding 1 is none", Spec{Range: "5", Padding: 1}, []Item{{"5", "5", "5", "1"}}},
		{"labels", Spec{Range: "a,echo HI", Padding: 9}, []Item{{"a", "a", "a", "1"}, {"echo HI", "echo HI", "echo HI", "1"}}},
		{"single numbers have step 1", Spec{Range: "1-11x5"}, []Item{{"1", "1", "1", "1"}, {"6", "6", "6", "1"}, {"11", "11", "11", "1"}}},
		{"chunks", Spec{Range: "1-25", Chunk: 10, Padding: 3}, []Item{{"1-10", "001", "010", "1"}, {"11-20", "011", "020", "1"}, {"21-25", "021", "025", "1"}}},
		{"chunk of one left over", Spec{Range: "1-3", Chunk: 2}, []Item{{"1-2", "1", "2", "1"}, {"3", "3", "3", "1"}}},
		{"chunks with a step", Spec{Range: "1-25x2", Chunk: 7}, []Item{{"1-13x2", "1", "13", "2"}, {"15-25x2", "15", "25", "2"}}},
		{"chunk of two with a step", Spec{Range: "1-16x5", Chunk: 2}, []Item{{"1-6x5", "1", "6", "5"}, {"11-16x5", "11", "16", "5"}}},
		{"falling chunks", Spec{Range: "9-1x2", Chunk: 3}, []Item{{"9-5x2", "5", "9", "2"}, {"3-1x2", "1", "3", "2"}}},
		{"chunks over gaps", Spec{Range: "1-3,7,10-11", Chunk: 5}, []Item{{"1-3,7,10", "1", "10", "1"}, {"11", "11", "11", "1"}}},
		{"chunks join what was written apart", Spec{Range: "1-3,4-6", Chunk: 6}, []Item{{"1-6", "1", "6", "1"}}},
		{"chunks of labels", Spec{Range: "a,b,c", Chunk: 2}, []Item{{"a,b", "a", "b", "1"}, {"c", "c", "c", "1"}}},
		{"mixed chunk", Spec{Range: "1,a,2,3", Chunk: 4}, []Item{{"1,a,2-3", "1", "3", "1"}}},
		{"huge chunk", Spec{Range: "1-3", Chunk: 1 << 62}, []Item{{"1-3", "1", "3", "1"}}},
		{"partitions", Spec{Range: "1-10", Partitions: 3}, []Item{{"1-4", "1", "4", "1"}, {"5-7", "5", "7", "1"}, {"8-10", "8", "10", "1"}}},
		{"more partitions than entries", Spec{Range: "1-2", Partitions: 5}, []Item{{"1", "1", "1", "1"}, {"2", "2", "2", "1"}}},
		{"reverse numbers chunks, not entries", Spec{Range: "1-5", Chunk: 2, Order: Reverse}, []Item{{"5", "5", "5", "1"}, {"3-4", "3", "4", "1"}, {"1-2", "1", "2", "1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, items(parse(t, c.spec))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Range: "1-5"}, "1 2 3 4 5"},
		{Spec{Range: "1-5", Order: "ascend"}, "1 2 3 4 5"},
		{Spec{Range: "3,1,2"}, "3 1 2"},
		{Spec{Range: "1-5", Order: Reverse}, "5 4 3 2 1"},
		{Spec{Range: "1", Order: Binary}, "1"},
		{Spec{Range: "1-2", Order: Binary}, "1 2"},
		{Spec{Range: "1-3", Order: Binary}, "1 3 2"},
		{Spec{Range: "1-10", Order: Binary}, "1 10 5 3 7 2 4 6 8 9"},
		{Spec{Range: "1-10", Partitions: 4, Order: Binary}, "1-3 9-10 4-6 7-8"},
	} {
		if got := strings.Join(names(parse(t, c.spec)), " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestItemOutOfRangePanics(t *testing.T) {
	a := parse(t, Spec{Range: "1-3"})
	for _, n := range []int{-1, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Item(%d) did not panic", n)
				}
			}()
			a.Item(n)
		}()
	}
}

// However a range is split and ordered, its items hold each entry once, in nearly equal or equal parts.
func TestSplitAndOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, entries := drawRange(t)
		spec := Spec{Range: text, Order: rapid.SampledFrom([]Order{Ascend, Reverse, Binary}).Draw(t, "order")}
		if rapid.Bool().Draw(t, "partitioned") {
			spec.Partitions = rapid.IntRange(1, 30).Draw(t, "partitions")
		} else {
			spec.Chunk = rapid.IntRange(0, 30).Draw(t, "chunk")
		}
		a, err := Parse(spec, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		byPlace := make([]string, a.Len()) // names as they were before they were ordered
		least, most, used := len(entries), 0, 0
		for n := range a.Len() {
			i := a.unordered(n)
			if a.ordered(i) != n || byPlace[i] != "" {
				t.Fatalf("%+v: item %d has place %d", spec, i, n)
			}
			from, to := a.span(i)
			if a.holder(from) != i || a.holder(to-1) != i || to <= from {
				t.Fatalf("%+v: item %d holds %d-%d", spec, i, from, to)
			}
			least, most, used = min(least, to-from), max(most, to-from), used+to-from
			byPlace[i] = a.Item(n).Name
			if at, ok := a.Find(byPlace[i]); !ok || at != n {
				t.Fatalf("%+v: Find(%q) = %d, %v, want %d", spec, byPlace[i], at, ok, n)
			}
		}
		switch {
		case used != len(entries):
			t.Fatalf("%+v: %d entries in items, %d in the range", spec, used, len(entries))
		case spec.Partitions > 0 && (most-least > 1 || a.Len() != min(spec.Partitions, len(entries))):
			t.Fatalf("%+v: %d parts of %d to %d entries", spec, a.Len(), least, most)
		case spec.Partitions == 0 && most != min(max(spec.Chunk, 1), len(entries)):
			t.Fatalf("%+v: chunks of up to %d", spec, most)
		}
		all, err := Parse(Spec{Range: strings.Join(byPlace, ",")}, 10_000)
		if err != nil || !cmp.Equal(names(all), entries) {
			t.Fatalf("%+v: items %v, entries %v, %v", spec, byPlace, entries, err)
		}
	})
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		name string
		want int // -1: not there
	}{
		{Spec{Range: "1-100"}, "25", 24},
		{Spec{Range: "1-100"}, "0025", 24},
		{Spec{Range: "1-100"}, "+25", 24},
		{Spec{Range: "1-100"}, " 25 ", 24},
		{Spec{Range: "1-100"}, "101", -1},
		{Spec{Range: "1-100"}, "0", -1},
		{Spec{Range: "1-100"}, "25-26", -1},
		{Spec{Range: "1-100"}, "25x", -1},
		{Spec{Range: "1-100"}, "", -1},
		{Spec{Range: "1-100"}, "a", -1},
		{Spec{Range: "1-100x5"}, "11", 2},
		{Spec{Range: "1-100x5"}, "12", -1},
		{Spec{Range: "-5-5", Padding: 4}, "-0005", 0},
		{Spec{Range: "5--5"}, "-5", 10},
		{Spec{Range: "1-100", Order: Reverse}, "1", 99},
		{Spec{Range: "1-10", Order: Binary}, "5", 2},
		{Spec{Range: "b,a,9"}, "a", 1},
		{Spec{Range: "b,a,9"}, "9", 2},
		{Spec{Range: "b,a,9"}, "c", -1},
		{Spec{Range: "1-9x2,2-8x2"}, "4", 6},
		{Spec{Range: "1-9x2,2-8x2"}, "10", -1},
		{Spec{Runs: 4}, "3", 3},
		{Spec{Range: "1-100", Chunk: 10}, "11-20", 1},
		{Spec{Range: "1-100", Chunk: 10}, "0011-0020", 1},
		{Spec{Range: "1-100", Chunk: 10}, "11-21", -1},
		{Spec{Range: "1-100", Chunk: 10}, "11-29x2", -1},
		{Spec{Range: "1-100", Chunk: 10}, "12", -1},
		{Spec{Range: "1-3,7,10-11", Chunk: 5}, "1-3,7,10", 0},
		{Spec{Range: "1-100"}, "1-1000000000000", -1},
	} {
		n, ok := parse(t, c.spec).Find(c.name)
		if !ok {
			n = -1
		}
		if n != c.want {
			t.Errorf("%+v: Find(%q) = %d, want %d", c.spec, c.name, n, c.want)
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		expr string
		want []int
		err  string
	}{
		{spec: Spec{Range: "1-100"}, expr: "25-29,40", want: []int{24, 25, 26, 27, 28, 39}},
		{spec: Spec{Range: "1-100"}, expr: "40, 0025,25", want: []int{24, 39}},
		{spec: Spec{Range: "1-5"}, expr: "5-1x2", want: []int{0, 2, 4}},
		{spec: Spec{Range: "1-5", Order: Reverse}, expr: "1,2", want: []int{3, 4}},
		{spec: Spec{Range: "a,b,c"}, expr: "c,a", want: []int{0, 2}},
		{spec: Spec{Runs: 4}, expr: "0,3", want: []int{0, 3}},
		{spec: Spec{Range: "1-30", Chunk: 10}, expr: "11-20", want: []int{1}},
		{spec: Spec{Range: "1-30", Chunk: 10}, expr: "1-20", want: []int{0, 1}},
		{spec: Spec{Range: "1-3,7,10-11", Chunk: 5}, expr: "1-3,7,10", want: []int{0}},
		{spec: Spec{Range: "1-30", Chunk: 10}, expr: "1-15", err: `only a part of item "11-20" is selected`},
		{spec: Spec{Range: "1-40"}, expr: "38-50", err: `item "41" is not in this job, whose items are "1-40"`},
		{spec: Spec{Range: "1-40"}, expr: "left", err: `item "left" is not in this job`},
		{spec: Spec{Range: "1-40"}, expr: "5-", err: `range element 1 (column 1) "5-"`},
		{spec: Spec{Range: "1-40"}, expr: " ", err: "is empty"},
		{spec: Spec{Range: "1-40"}, expr: "1-1000000000", err: `names 1,000,000,000 items, and the job has 40: select only some of "1-40"`},
	} {
		got, err := parse(t, c.spec).Select(c.expr)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v %q: %v, want %s", c.spec, c.expr, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v %q: %v, %v, want %v", c.spec, c.expr, got, err, c.want)
		}
	}
}

// Selecting the names of some items gives just those, in ascending order.
func TestSelectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _ := drawRange(t)
		a, err := Parse(Spec{
			Range: text, Chunk: rapid.IntRange(0, 5).Draw(t, "chunk"),
			Order: rapid.SampledFrom([]Order{Ascend, Reverse, Binary}).Draw(t, "order"),
		}, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		want := rapid.SliceOfNDistinct(rapid.IntRange(0, a.Len()-1), 1, a.Len(), rapid.ID[int]).Draw(t, "items")
		var expr []string
		for _, n := range want {
			expr = append(expr, a.Item(n).Name)
		}
		slices.Sort(want)
		got, err := a.Select(strings.Join(expr, ","))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%s: %v selects %v, %v, want %v", text, expr, got, err, want)
		}
	})
}
