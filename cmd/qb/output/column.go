package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"qb/api"
)

// Column is one column of a table: a member of the rows, or a text that is made of several. It is escaped by the table.
type Column[T any] struct {
	Name   string
	Member string               // as in JSON, such as items.pending; empty: the member that is named like the column
	Number func(float64) string // how the member is written if it is a number; nil: as it is
	Text   func(T) string       // instead of a member
	Right  bool                 // numbers
	Extra  bool                 // only when asked for with -fields
	Status bool                 // a state, in its colour
	Style  func(T) lipgloss.Style
}

// Of is the column's text in a row, empty if there is none.
func (c *Column[T]) Of(row T) string { return c.of(&row) }

func (c *Column[T]) of(row *T) string {
	if c.Text != nil {
		return c.Text(*row)
	}
	v := c.member(row)
	if !v.IsValid() { // null, or no entry of a map
		return ""
	}
	return c.written(v)
}

// member is the value of the column's member in a row, not valid if there is none.
func (c *Column[T]) member(row *T) reflect.Value {
	v := reflect.ValueOf(row).Elem()
	for name, rest := "", cmp.Or(c.Member, c.Name); rest != ""; {
		name, rest, _ = strings.Cut(rest, ".")
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(name))
			break
		}
		if v = api.Member(v.Addr().Interface(), name); !v.IsValid() {
			panic(fmt.Sprintf("the column %s shows no member of %T", c.Name, *row))
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func (c *Column[T]) written(v reflect.Value) string {
	switch {
	case v.Type() == textType: // most members; the others are boxed
		return v.String()
	case c.Number != nil:
		return c.Number(v.Convert(numberType).Float())
	case v.CanInt() && v.Type().NumMethod() == 0:
		return strconv.FormatInt(v.Int(), 10)
	}
	switch value := v.Interface().(type) {
	case time.Time:
		return Moment(&value)
	case []string:
		return strings.Join(value, ",")
	case json.RawMessage:
		return string(value)
	}
	return fmt.Sprint(v.Interface())
}

var textType, numberType = reflect.TypeFor[string](), reflect.TypeFor[float64]()

// StyleOf is the column's style in a row.
func (c *Column[T]) StyleOf(row T) lipgloss.Style { return c.styleOf(&row) }

func (c *Column[T]) styleOf(row *T) lipgloss.Style {
	switch {
	case c.Style != nil:
		return c.Style(*row)
	case c.Status:
		return StatusStyle(c.of(row))
	}
	return lipgloss.NewStyle()
}

// Names are the names of columns.
func Names[T any](columns []Column[T]) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}
