package lists

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

type row struct {
	id   int
	name string
	size int
}

var rows = NewFields([]Field[row]{
	{Name: "id", Kind: agenda.KindNumber, Of: func(r *row) agenda.Value { return agenda.NumberValue(float64(r.id)) }},
	{Name: "name", Kind: agenda.KindText, Of: func(r *row) agenda.Value { return agenda.TextValue(r.name) }},
	{Name: "size", Kind: agenda.KindSize, Ordered: true, Of: func(r *row) agenda.Value {
		return agenda.SizeValue(int64(r.size))
	}},
})

// TestPages: whatever the order and the length of pages, all pages together are the sorted list; rows that come before
// the place of a page or go from there shift nothing.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []row
		for n := range rapid.IntRange(0, 30).Draw(t, "rows") {
			list = append(list, row{n,
				rapid.SampledFrom([]string{"", "a", "A", "\u00e4", "b,c", strings.Repeat("\u00e4", 300)}).Draw(t, "name"),
				rapid.IntRange(-2, 2).Draw(t, "size")})
		}
		order, err := rows.Order(rapid.SampledFrom([]string{"name", "-name,size", "-size, name", "id",
			"size,-id", "-id"}).Draw(t, "sort"), "-id")
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b row) int { return order.compare(order.of(&a), order.of(&b)) })
		limit, at, seen := rapid.IntRange(1, 9).Draw(t, "limit"), "", []row{}
		for {
			page, err := NewPage[row, row](order, at, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range rapid.Permutation(list).Draw(t, "as they come") {
				page.Add(&n, func() row { return n })
			}
			got, next := page.Rows()
			seen = append(seen, got...)
			if len(got) > limit || len(page.rows) > limit {
				t.Fatalf("a page of %d rows, the limit is %d", len(got), limit)
			}
			if at = next; at == "" {
				break
			}
			if rapid.Bool().Draw(t, "others come and go before it") {
				gone := rapid.SampledFrom(seen).Draw(t, "gone")
				list = slices.DeleteFunc(list, func(r row) bool { return r == gone })
				if first := seen[0]; order.by[0].Name == "size" && order.by[0].down {
					list = append(list, row{1000 + len(seen), first.name, first.size + 1})
				}
			}
		}
		if !slices.Equal(seen, want) {
			t.Fatalf("pages have %v, the list is %v", seen, want)
		}
	})
}

// TestRefusals name the column and what there is.
func TestRefusals(t *testing.T) {
	good, _ := rows.Order("name", "id")
	other, _ := rows.Order("-name", "id")
	for text, got := range map[string]error{
		`sort: column 6: there is no field "sze"; there are id, name, size`: second(rows.Order("name,sze", "id")),
		`sort: column 1: there is no field ""; there are id, name, size`:    second(rows.Order("", "id")),
		`sort: column 17: use 8 fields at most`:                             second(rows.Order("a,b,c,d,e,f,g,h,i", "id")),
		`fields: entry 2: there is no member "wings"; there are name, state`: CheckMembers[api.Host]([]string{"name",
			"wings"}),
		`expression: filter, column 1: `: second(rows.Filter("size = 4")),
		`after: "e30" is no place in a`:  second(NewPage[row, row](good, "e30", 1)),
		`after: "!" is no place in a`:    second(NewPage[row, row](good, "!", 1)),
	} {
		if got == nil || !strings.HasPrefix(got.Error(), text) {
			t.Errorf("%v, want %s", got, text)
		}
	}
	place := good.write(sortValues{"a", 1.0})
	if _, err := NewPage[row, row](other, place, 1); err == nil {
		t.Error("a place in another order is taken")
	}
	if _, err := NewPage[row, row](good, good.write(place2(1.0, "a")), 1); err == nil {
		t.Error("a place of other kinds is taken")
	}
	if err := CheckMembers[api.Job]([]string{"id", "name", "items"}); err != nil {
		t.Error(err)
	}
}

func place2(values ...any) sortValues { return values }

func second[T any](_ T, err error) error { return err }

// TestPick: members come in the requested order, including members that are omitted when empty.
func TestPick(t *testing.T) {
	got, err := Pick([]api.Host{{Name: "a\"b", State: "up"}, {Name: "c", Remark: "r"}},
		[]string{"state", "name", "remark", "groups"})
	if want := `[{"state":"up","name":"a\"b","remark":"","groups":null} {"state":"","name":"c","remark":"r","groups":null}]`; err != nil || fmt.Sprintf("%s",
		got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// TestHosts: each field goes under both of its names.
func TestHosts(t *testing.T) {
	h := message.HostView{HostFacts: facts.HostFacts{ID: "rn1", Groups: []string{"gpu"}, Slots: 8}, State: "up",
		Available: 4 << 30, Used: 3}
	for text, want := range map[string]bool{
		`host.state = up and memory.avail >= 4GiB`: true, `"gpu" in groups and processors.avail > 5`: false,
		`name = rn*`: true, "": true,
	} {
		if f, err := Hosts.Filter(text); err != nil || f.Passes(Hosts.Lookup(&h)) != want {
			t.Errorf("%s: want %v (%v)", text, want, err)
		}
	}
}

// notFields are the attributes of one value by which jobs are neither chosen nor sorted.
var notFields = strings.Fields(`agenda_timeout agendatimelimit chunk cwd hostorder order p_agenda p_agenda_cpus
	p_agenda_priority padding partitions range regex_errors regex_highlights regex_outputpaths regex_progress retrysubjob
	retrywork_delay security shell start time_estimate timelimit timeout`)

// TestAttributesAreFields: a new attribute of one value is a field of jobs, or on the list of exceptions.
func TestAttributesAreFields(t *testing.T) {
	for _, a := range facts.Attributes {
		switch reflect.TypeOf(a.Value(new(facts.JobFacts))).Elem().Kind() {
		case reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
			continue
		}
		isField := slices.ContainsFunc(jobFields, func(f jobField) bool { return f.Name == a.Name })
		if isField == slices.Contains(notFields, a.Name) {
			t.Errorf("%s: a field in jobfields.go: %v; in notFields: %v", a.Name, isField, !isField)
		}
	}
}
