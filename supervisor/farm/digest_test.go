package farm

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// State tells the whole state of a farm, a line for each field of everything that it holds: what is equal before and
// after has not changed in between. Left out is what only saves work.
func State(f *Farm) []string {
	s := state{seen: map[uintptr]bool{}}
	s.walk("", reflect.ValueOf(f))
	return s.lines
}

// workSavers are the fields that State leaves out: memory that is used again, and what is made when it is first asked
// for.
var workSavers = []string{"planning.scratch", "planning.spare", "Hosts.byName", "Hosts.Properties", "Hosts.Capacity",
	"Jobs.list", "Host.Sums", "Farm.shown", "Stale.rows", "Shown.ViewRow", "hosted.changed", "hosted.regrouped"}

type state struct {
	lines []string
	seen  map[uintptr]bool
}

func (s *state) line(path string, value any) {
	s.lines = append(s.lines, fmt.Sprintf("%s = %v", path, value))
}

func (s *state) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		s.line(path, v.Pointer())
		if !v.IsNil() && !s.seen[v.Pointer()] {
			s.seen[v.Pointer()] = true
			s.walk(path, v.Elem())
		}
	case reflect.Interface:
		if s.line(path+" nil", v.IsNil()); !v.IsNil() {
			s.walk(path+"."+v.Elem().Type().String(), v.Elem())
		}
	case reflect.Struct:
		for n := range v.NumField() {
			name := v.Type().Field(n).Name
			if !slices.Contains(workSavers, v.Type().Name()+"."+name) {
				s.walk(path+"."+name, v.Field(n))
			}
		}
	case reflect.Slice, reflect.Array:
		s.line(path+" len", v.Len())
		for n := range v.Len() {
			s.walk(fmt.Sprintf("%s[%d]", path, n), v.Index(n))
		}
	case reflect.Map:
		s.walkMap(path, v)
	case reflect.Func, reflect.Chan:
		s.line(path, v.Pointer())
	default:
		s.line(path, v)
	}
}

// walkMap goes by the keys; of pointers the addresses count, which stay as they are.
func (s *state) walkMap(path string, v reflect.Value) {
	s.line(path+" len", v.Len())
	text := func(k reflect.Value) string { return fmt.Sprint(k) }
	if v.Type().Key().Kind() == reflect.Pointer {
		text = func(k reflect.Value) string { return fmt.Sprint(k.Pointer()) }
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(text(a), text(b)) })
	for _, k := range keys {
		s.walk(path+"["+text(k)+"]", v.MapIndex(k))
	}
}
