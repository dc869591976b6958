package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// MaxSnapshotNumber bounds every count in a snapshot: slots, cpus, items.
const MaxSnapshotNumber = 1_000_000_000

// ReadSnapshot reads a snapshot strictly. A member may be missing where the contract has a default; one
// that is unknown, doubled, of the wrong type or out of range is refused with its place, such as
// running[3].host, and so is a snapshot that contradicts itself.
func ReadSnapshot(data []byte) (SnapshotDoc, error) {
	tree, err := parseTree(data)
	if err != nil {
		return SnapshotDoc{}, err
	}
	r := &snapshotReader{}
	doc := SnapshotDoc{Cluster: "/", Policy: DefaultSnapshotPolicy(), Jobs: []SnapshotJob{}, Running: []SnapshotInstance{}}
	r.read(reflect.ValueOf(&doc).Elem(), tree, "", "")
	if r.err == nil {
		r.check(&doc)
	}
	if r.err != nil {
		return SnapshotDoc{}, r.err
	}
	return doc, nil
}

// snapshotDefaults are what the members of a list are before they are read.
var snapshotDefaults = map[reflect.Type]any{
	reflect.TypeFor[SnapshotHost]():     SnapshotHost{Tags: []string{}, Cluster: "/", Up: true},
	reflect.TypeFor[SnapshotJob]():      SnapshotJob{Priority: 9999, Cluster: "/", Agenda: true, Slots: 1, Tags: []string{}, Weight: 1, Fairshare: 1},
	reflect.TypeFor[SnapshotInstance](): SnapshotInstance{Kind: "primary"},
}

// snapshotReader puts a tree into a struct, and retains the first thing that is wrong. A member that is missing or null
// keeps its default. What a member's type does not say is in its tags: among, and read as required (it must be there, and
// a text must not be empty), width (a max_cpus: "*" and anything negative mean no limit) or signed (it may be negative).
type snapshotReader struct{ err error }

func (r *snapshotReader) refuse(place, format string, args ...any) {
	if r.err == nil {
		r.err = Errorf(KindInvalid, "%s: %s", cmp.Or(place, "snapshot"), fmt.Sprintf(format, args...))
	}
}

func (r *snapshotReader) expect(n *treeNode, kind byte, place, what string) {
	if n.kind != kind {
		r.refuse(place, "must be %s, is %s", what, n)
	}
}

// read takes the value at a place into v; tag is that of the member.
func (r *snapshotReader) read(v reflect.Value, n *treeNode, place string, tag reflect.StructTag) {
	among, required := tag.Get("among"), tag.Get("read") == "required"
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.read(v.Elem(), n, place, tag)
	case reflect.Struct:
		r.readObject(v, n, place)
	case reflect.Map:
		r.readAmounts(v, n, place)
	case reflect.Slice:
		r.readList(v, n, place, tag)
	case reflect.Bool:
		r.expect(n, 't', place, "true or false")
		v.SetBool(n.text == "true")
	case reflect.String:
		switch {
		case among != "" && (n.kind != '"' || !slices.Contains(strings.Split(among, ", "), n.text)):
			r.refuse(place, "must be one of %s, is %s", among, n)
		case required && n.text == "":
			r.refuse(place, "missing")
		}
		r.expect(n, '"', place, "a string")
		v.SetString(n.text)
	default:
		r.readNumber(v, n, place, tag.Get("read"))
	}
}

func (r *snapshotReader) readObject(v reflect.Value, n *treeNode, place string) {
	r.expect(n, '{', place, "an object")
	known, given := membersOf(v.Type()), map[string]*treeNode{}
	for i, name := range n.names {
		if _, ok := known[name]; !ok {
			r.refuse(within(place, name), "unknown member; known are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if given[name] != nil {
			r.refuse(within(place, name), "is there twice")
		}
		given[name] = n.items[i]
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		tag := v.Type().Field(known[name]).Tag
		switch m := given[name]; {
		case m != nil && m.kind != 'n':
			r.read(v.Field(known[name]), m, within(place, name), tag)
		case tag.Get("read") == "required":
			r.refuse(within(place, name), "missing")
		}
	}
}

func within(place, name string) string { return strings.TrimPrefix(place+"."+name, ".") }

func (r *snapshotReader) readList(v reflect.Value, n *treeNode, place string, tag reflect.StructTag) {
	r.expect(n, '[', place, "a list")
	list := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		if standard, ok := snapshotDefaults[v.Type().Elem()]; ok {
			list.Index(i).Set(reflect.ValueOf(standard))
		}
		r.read(list.Index(i), item, fmt.Sprintf("%s[%d]", place, i), tag)
	}
	v.Set(list)
}

// readAmounts reads whole numbers by name.
func (r *snapshotReader) readAmounts(v reflect.Value, n *treeNode, place string) {
	r.expect(n, '{', place, "an object of whole numbers")
	amounts := map[string]int64{}
	for i, name := range n.names {
		if _, twice := amounts[name]; twice {
			r.refuse(within(place, name), "is there twice")
		}
		var amount int64
		if n.items[i].kind != 'n' {
			r.read(reflect.ValueOf(&amount).Elem(), n.items[i], within(place, name), "")
		}
		amounts[name] = amount
	}
	v.Set(reflect.ValueOf(amounts))
}

// readNumber reads a float64, a count (int) or bytes (int64).
func (r *snapshotReader) readNumber(v reflect.Value, n *treeNode, place, rule string) {
	what, most := "a number", int64(1<<53)
	if v.Kind() == reflect.Int {
		most = MaxSnapshotNumber
	}
	if rule == "width" {
		if what = `a whole number or "*"`; n.kind == '"' && n.text == "*" {
			n = &treeNode{kind: '0', text: "-1"}
		}
	}
	r.expect(n, '0', place, what)
	f, err := json.Number(n.text).Float64()
	switch {
	case r.err != nil:
	case err != nil:
		r.refuse(place, "must be %s, is %s", what, n)
	case f < 0 && rule != "signed" && rule != "width":
		r.refuse(place, "must not be negative, is %s", n)
	case v.CanFloat():
		v.SetFloat(f)
	case f != math.Trunc(f):
		r.refuse(place, "must be a whole number, is %s", n)
	case f > float64(most) || rule == "signed" && f < -float64(most):
		r.refuse(place, "must be at most %d, is %s", most, n)
	case rule == "width":
		v.SetInt(int64(max(f, -1))) // below 0 there is none
	default:
		v.SetInt(int64(f))
	}
}
