package lists

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"qb/api"
	"qb/internal/units"
	"qb/supervisor/lead/problem"
)

// CheckMembers refuses names that the rows of an answer, []T, do not have.
func CheckMembers[T any](names []string) error {
	row := new(T)
	for n, name := range names {
		if !api.Member(row, name).IsValid() {
			return problem.Invalid("fields", "entry %d: there is no member %q; there are %s", n+1, problem.Clip(name),
				units.Few(membersOf(reflect.TypeFor[T]())))
		}
	}
	return nil
}

func membersOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Only leaves of the rows of a list what fields asks for.
func Only(fields string, rows any) (any, error) {
	switch rows.(type) {
	case []api.Job, []api.Host:
		return Pick(rows, strings.Split(fields, ","))
	}
	return rows, nil
}

// Pick is a list of structs with no other members than these, in this order; each is there, also if it is empty.
func Pick(rows any, names []string) ([]json.RawMessage, error) {
	list := reflect.ValueOf(rows)
	picked := make([]json.RawMessage, list.Len())
	var b bytes.Buffer
	for n := range list.Len() {
		b.Reset()
		for m, name := range names {
			value, err := json.Marshal(api.Member(list.Index(n).Addr().Interface(), name).Interface())
			if err != nil {
				return nil, fmt.Errorf("choosing members: %w", err)
			}
			fmt.Fprintf(&b, "%s%q:%s", map[bool]string{true: ",", false: "{"}[m > 0], name, value)
		}
		b.WriteByte('}')
		picked[n] = slices.Clone(b.Bytes())
	}
	return picked, nil
}
