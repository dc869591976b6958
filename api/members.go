package api

import (
	"reflect"
	"strings"
	"sync"
)

// Member is the member of the struct that v points to by its name in JSON. It is not valid if there is no such member.
func Member(v any, name string) reflect.Value {
	s := reflect.ValueOf(v).Elem()
	fields, ok := members.Load(s.Type())
	if !ok {
		fields, _ = members.LoadOrStore(s.Type(), membersOf(s.Type()))
	}
	if i, ok := fields.(map[string]int)[name]; ok {
		return s.Field(i)
	}
	return reflect.Value{}
}

var members sync.Map // of a struct's reflect.Type: its fields by their names in JSON

func membersOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}
