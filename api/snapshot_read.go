package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MaxSnapshotNumber bounds every count in a snapshot: slots, cpus, items.
const MaxSnapshotNumber = 1_000_000_000

// ReadSnapshot reads a snapshot strictly. A member may be missing where the contract has a default; one
// that is unknown, doubled, of the wrong type or out of range is refused with its place, such as
// running[3].host, and so is a snapshot that contradicts itself.
func ReadSnapshot(data []byte) (SnapshotDoc, error) {
	if err := CheckJSON(data); err != nil {
		return SnapshotDoc{}, err
	}
	r := &snapshotReader{data: data, json: json.NewDecoder(bytes.NewReader(data))}
	r.json.UseNumber()
	doc := SnapshotDoc{Cluster: "/", Policy: DefaultSnapshotPolicy(), Jobs: []SnapshotJob{}, Running: []SnapshotInstance{}}
	r.read(reflect.ValueOf(&doc).Elem(), r.next(), "", "")
	if _, err := r.json.Token(); r.err == nil && err != io.EOF {
		r.malformed(errors.New("there is something after the end of the object"))
	}
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
	reflect.TypeFor[SnapshotHost](): SnapshotHost{Tags: []string{}, Cluster: "/", Up: true},
	reflect.TypeFor[SnapshotJob](): SnapshotJob{Priority: 9999, Cluster: "/", Agenda: true, Slots: 1,
		Tags: []string{}, Weight: 1, Fairshare: 1},
	reflect.TypeFor[SnapshotInstance](): SnapshotInstance{Kind: "primary"},
}

// snapshotReader reads JSON into a struct, up to the first thing that is wrong. A member that is missing or null keeps
// its default. What a member's type does not say is in its tags: among, and read as required (it must be there, and a
// text must not be empty), width (a max_cpus: "*" and anything negative mean no limit) or signed (it may be negative).
type snapshotReader struct {
	data []byte
	json *json.Decoder
	err  error
}

func (r *snapshotReader) refuse(place, format string, args ...any) {
	if r.err == nil {
		r.err = Errorf(KindInvalid, "%s: %s", cmp.Or(place, "snapshot"), fmt.Sprintf(format, args...))
	}
}

// next is the next piece of the text, nil for null.
func (r *snapshotReader) next() json.Token {
	token, err := r.json.Token()
	if err != nil {
		r.malformed(err)
	}
	return token
}

func (r *snapshotReader) malformed(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	before := r.data[:min(int(r.json.InputOffset()), len(r.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	if r.err == nil {
		r.err = Errorf(KindInvalid, "line %d, column %d: not a JSON snapshot: %v", line, column, err)
	}
}

// expected is the token if it is of the type T.
func expected[T any](r *snapshotReader, token json.Token, place, what string) T {
	v, ok := token.(T)
	if !ok {
		r.refuse(place, "must be %s, is %s", what, shownToken(token))
	}
	return v
}

// opens is whether the token begins an object or a list.
func (r *snapshotReader) opens(token json.Token, with json.Delim, place, what string) bool {
	if token != with {
		r.refuse(place, "must be %s, is %s", what, shownToken(token))
	}
	return token == with
}

// shownToken is a value in short.
func shownToken(token json.Token) string {
	switch v := token.(type) {
	case json.Delim:
		return map[json.Delim]string{'{': "an object", '[': "a list"}[v]
	case nil:
		return "null"
	case string:
		if len(v) > 40 {
			return strconv.Quote(v[:40]) + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(token)
}

// read takes the value at a place, which begins with the token, into v; tag is the tag of the member.
func (r *snapshotReader) read(v reflect.Value, token json.Token, place string, tag reflect.StructTag) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.read(v.Elem(), token, place, tag)
	case reflect.Struct:
		if r.opens(token, '{', place, "an object") {
			r.readObject(v, place)
		}
	case reflect.Map:
		if r.opens(token, '{', place, "an object of whole numbers") {
			r.readAmounts(v, place, tag)
		}
	case reflect.Slice:
		if r.opens(token, '[', place, "a list") {
			r.readList(v, place, tag)
		}
	case reflect.Bool:
		v.SetBool(expected[bool](r, token, place, "true or false"))
	case reflect.String:
		r.readText(v, token, place, tag)
	default:
		r.readNumber(v, token, place, tag.Get("read"))
	}
}

func (r *snapshotReader) readText(v reflect.Value, token json.Token, place string, tag reflect.StructTag) {
	text, isText := token.(string)
	switch among := tag.Get("among"); {
	case among != "" && (!isText || !slices.Contains(strings.Split(among, ", "), text)):
		r.refuse(place, "must be one of %s, is %s", among, shownToken(token))
	case !isText:
		r.refuse(place, "must be a string, is %s", shownToken(token))
	case tag.Get("read") == "required" && text == "":
		r.refuse(place, "missing")
	}
	v.SetString(text)
}

func (r *snapshotReader) readObject(v reflect.Value, place string) {
	known, given := membersOf(v.Type()), map[string]bool{}
	r.eachMember(place, func(name string) {
		at, ok := known[name]
		if !ok {
			r.refuse(within(place, name), "unknown member; known are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return
		}
		if token := r.next(); token != nil {
			given[name] = true
			r.read(v.Field(at), token, within(place, name), v.Type().Field(at).Tag)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if v.Type().Field(known[name]).Tag.Get("read") == "required" && !given[name] {
			r.refuse(within(place, name), "missing")
		}
	}
}

// eachMember calls do with the name of each member of an object, whose value is next, up to the end of the object.
func (r *snapshotReader) eachMember(place string, do func(name string)) {
	seen := map[string]bool{}
	for r.err == nil && r.json.More() {
		name, _ := r.next().(string)
		if seen[name] {
			r.refuse(within(place, name), "is there twice")
		}
		seen[name] = true
		do(name)
	}
	r.next() // its end
}

func within(place, name string) string { return strings.TrimPrefix(place+"."+name, ".") }

func (r *snapshotReader) readList(v reflect.Value, place string, tag reflect.StructTag) {
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for i := 0; r.err == nil && r.json.More(); i++ {
		entry := reflect.New(v.Type().Elem()).Elem()
		if standard, ok := snapshotDefaults[entry.Type()]; ok {
			entry.Set(reflect.ValueOf(standard))
		}
		r.read(entry, r.next(), fmt.Sprintf("%s[%d]", place, i), tag)
		list = reflect.Append(list, entry)
	}
	r.next() // its end
	v.Set(list)
}

// readAmounts reads whole numbers by name.
func (r *snapshotReader) readAmounts(v reflect.Value, place string, tag reflect.StructTag) {
	amounts := map[string]int64{}
	r.eachMember(place, func(name string) {
		var amount int64
		if token := r.next(); token != nil {
			r.read(reflect.ValueOf(&amount).Elem(), token, within(place, name), tag)
		}
		amounts[name] = amount
	})
	v.Set(reflect.ValueOf(amounts))
}

// readNumber reads a float64, a count (int) or bytes (int64).
func (r *snapshotReader) readNumber(v reflect.Value, token json.Token, place, rule string) {
	what, most := "a number", int64(1<<53)
	if v.Kind() == reflect.Int {
		most = MaxSnapshotNumber
	}
	if rule == "width" {
		if what = `a whole number or "*"`; token == "*" {
			token = json.Number("-1")
		}
	}
	n := expected[json.Number](r, token, place, what)
	f, err := n.Float64()
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
