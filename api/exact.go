package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// CheckMembers refuses JSON, which is known to be good, with an object that has a member twice: encoding/json takes the
// last, another reader the first.
func CheckMembers(data []byte) error {
	type object struct {
		names map[string]bool
		name  string // of the member that is being read; empty: a name is next
		array bool
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []object
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end
		}
		top := len(open) - 1
		switch delim, _ := token.(json.Delim); {
		case delim == '{':
			open = append(open, object{names: map[string]bool{}})
			continue
		case delim == '[':
			open = append(open, object{array: true})
			continue
		case delim == '}' || delim == ']':
			open = open[:top]
			top--
		case top >= 0 && !open[top].array && open[top].name == "":
			name := "." + fmt.Sprint(token)
			if open[top].names[name] {
				var path string
				for _, o := range open {
					path += o.name
				}
				e := Errorf(KindInvalid, "%s is given twice; give it once", strings.TrimPrefix(path+name, "."))
				e.Member, _, _ = strings.Cut(strings.TrimPrefix(path+name, "."), ".")
				return e
			}
			open[top].names[name] = true
			open[top].name = name
			continue
		}
		if top >= 0 {
			open[top].name = ""
		}
	}
}

// CheckExact refuses a JSON object, which is known to be good, unless a type, a struct, has all its members, each given
// once and written as there.
func CheckExact(data []byte, t reflect.Type) error {
	return cmp.Or(CheckMembers(data), checkNames(data, t, ""))
}

// DecodeError says in JSON's words what encoding/json says in those of Go.
func DecodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	e := Errorf(KindInvalid, "%s: %s is not %s", cmp.Or(wrong.Field, "the document"),
		strings.TrimPrefix(wrong.Value, "number "), kindOf(wrong.Type))
	e.Member, _, _ = strings.Cut(wrong.Field, ".")
	return e
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number in range"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more, in range"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// checkNames refuses members that a struct lacks; encoding/json ignores them, or matches them without regard to case.
func checkNames(data []byte, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var members map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(data, &members) != nil {
		return nil
	}
	types := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			types[name] = field.Type
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if types[name] != nil {
			if err := checkNames(members[name], types[name], at); err != nil {
				return err
			}
			continue
		}
		hint := "leave it out"
		for _, known := range slices.Sorted(maps.Keys(types)) {
			if strings.EqualFold(known, name) {
				hint = "write " + known
			}
		}
		e := Errorf(KindInvalid, "there is no member %s; %s", at, hint)
		e.Member, _, _ = strings.Cut(at, ".")
		return e
	}
	return nil
}
