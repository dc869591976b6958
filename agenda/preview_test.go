package agenda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec        Spec
		list        string
		first, rest string // items
	}{
		{Spec{Range: "1-10"}, "", "1 10 5", "2 3 4 6 7 8 9"},
		{Spec{Range: "1-10", Order: Reverse}, "10,3,4", "10 3 4", "9 8 7 6 5 2 1"},
		{Spec{Range: "1-4"}, "2,99,hero", "2 99 hero", "1 3 4"},
		{Spec{Range: "7"}, "", "7", ""},
		{Spec{Range: "1-100", Chunk: 30}, "", "1-30 91-100 31-60", "61-90"},
		{Spec{Range: "1-100", Chunk: 30}, "91-100,31-60", "31-60 91-100", "1-30 61-90"},
		{Spec{Range: "1-10", Partitions: 4}, "4-6", "4-6", "1-3 7-8 9-10"},
		{Spec{Range: "a,b,c,1-3x2"}, "b", "b", "a c 1 3"},
	} {
		a, err := Parse(c.spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, rest, err := a.Preview(c.spec, c.list)
		if got := previewItems(t, first); err != nil || got != c.first {
			t.Errorf("%+v, %q: first %s, %v; want %s", c.spec, c.list, got, err, c.first)
		}
		if got := previewItems(t, rest); got != c.rest {
			t.Errorf("%+v, %q: rest %s; want %s", c.spec, c.list, got, c.rest)
		}
	}
	for list, spec := range map[string]Spec{"5": {Range: "1-100", Chunk: 10}, "1-": {Range: "1-3"}, "1-99999999999": {Range: "1-3"}, "1": {Runs: 3}} {
		a, err := Parse(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Preview(spec, list); err == nil {
			t.Errorf("%q of %+v is taken", list, spec)
		}
	}
}

func previewItems(t interface{ Fatal(...any) }, spec Spec) string {
	if spec.Range == "" {
		return ""
	}
	a, err := Parse(spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for n := range a.Len() {
		list = append(list, a.Item(n).Name)
	}
	return strings.Join(list, " ")
}

// TestPreviewDivides: each item is in one of the parts, as it was.
func TestPreviewDivides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.IntRange(1, 60).Draw(t, "last")
		spec := Spec{Range: fmt.Sprintf("1-%dx%d,x,y,100-90", last, rapid.IntRange(1, 3).Draw(t, "step")),
			Order: rapid.SampledFrom([]Order{Ascend, Reverse, Binary}).Draw(t, "order")}
		switch rapid.IntRange(0, 2).Draw(t, "split") {
		case 1:
			spec.Chunk = rapid.IntRange(2, 7).Draw(t, "chunk")
		case 2:
			spec.Partitions = rapid.IntRange(1, 9).Draw(t, "partitions")
		}
		a, err := Parse(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		list := ""
		if rapid.Bool().Draw(t, "listed") {
			var picked []string
			for n := range a.Len() {
				if rapid.IntRange(0, 3).Draw(t, "pick") == 0 {
					picked = append(picked, a.Item(n).Name)
				}
			}
			list = strings.Join(picked, ",")
		}
		first, rest, err := a.Preview(spec, list)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(previewItems(t, first) + " " + previewItems(t, rest))
		want := strings.Fields(previewItems(t, spec))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v, %q: %v in %+v and %+v", spec, list, got, first, rest)
		}
	})
}
