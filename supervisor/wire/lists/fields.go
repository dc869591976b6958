package lists

import (
	"cmp"
	"slices"
	"strings"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/lead/problem"
)

// Field is a property of rows.
type Field[T any] struct {
	Name    string
	Kind    agenda.PropertyKind
	Of      func(*T) agenda.Value
	Counted bool // it is not known from the row of a job alone
	Ordered bool // lists are ordered by it, and expressions do not have it
}

// Fields are the fields of one kind of row.
type Fields[T any] struct {
	list   []Field[T]
	byName map[string]*Field[T]
	known  []agenda.Property
	names  []string
}

// NewFields takes in all fields. The last field of each order is the key, by which no two rows are alike.
func NewFields[T any](list []Field[T]) *Fields[T] {
	f := &Fields[T]{list: list, byName: map[string]*Field[T]{}}
	for n := range list {
		at := &f.list[n]
		f.byName[at.Name] = at
		f.names = append(f.names, at.Name)
		if !at.Ordered {
			f.known = append(f.known, agenda.Property{Name: at.Name, Kind: at.Kind})
		}
	}
	return f
}

// Filter reads an expression; a blank one lets every row pass.
func (f *Fields[T]) Filter(text string) (*agenda.Filter, error) {
	read, err := agenda.ParseFilter(text, f.known)
	if err != nil {
		return nil, problem.Invalid("expression", "%s", err)
	}
	return read, nil
}

// Lookup is a row as an expression sees it.
func (f *Fields[T]) Lookup(row *T) agenda.Lookup {
	return func(name string) (agenda.Value, bool) {
		field := f.byName[name]
		if field == nil {
			return agenda.Value{}, false
		}
		return field.Of(row), true
	}
}

// Counts says whether an expression needs what the row of a job alone does not tell.
func (f *Fields[T]) Counts(of *agenda.Filter) bool {
	return of != nil && slices.ContainsFunc(f.list, func(at Field[T]) bool { return at.Counted && of.Uses(at.Name) })
}

// maxOrder bounds the fields of an order.
const maxOrder = 8

// SortOrder is an order of rows.
type SortOrder[T any] struct {
	text string
	by   []by[T]
}

type by[T any] struct {
	*Field[T]
	down bool
}

// Order reads a comma list of fields, each with a - before it if the largest come first. key, read in the same way,
// decides at last.
func (f *Fields[T]) Order(text, key string) (*SortOrder[T], error) {
	o := &SortOrder[T]{text: text}
	words := strings.Split(text, ",")
	if len(words) > maxOrder {
		return nil, problem.Invalid("sort", "column %d: use %d fields at most",
			len(strings.Join(words[:maxOrder], ","))+2, maxOrder)
	}
	at := 1
	for _, word := range append(words, key) {
		name, down := strings.CutPrefix(strings.TrimSpace(word), "-")
		field := f.byName[name]
		if field == nil {
			return nil, problem.Invalid("sort", "column %d: there is no field %q; there are %s", at, problem.Clip(name),
				units.Few(f.names))
		}
		at += len(word) + 1
		if !slices.ContainsFunc(o.by, func(b by[T]) bool { return b.Name == name }) {
			o.by = append(o.by, by[T]{field, down})
		}
	}
	return o, nil
}

// Counts says whether the order needs what the row of a job alone does not tell.
func (o *SortOrder[T]) Counts() bool {
	return slices.ContainsFunc(o.by, func(b by[T]) bool { return b.Counted })
}

// sortValues is what a row is in each field of an order: a text or a number.
type sortValues []any

// of is the place of a row.
func (o *SortOrder[T]) of(row *T) sortValues {
	p := make(sortValues, len(o.by))
	for n, b := range o.by {
		switch v := b.Of(row); v.Kind {
		case agenda.KindText, agenda.KindList:
			p[n] = clip(v.String())
		default:
			p[n] = v.Number
		}
	}
	return p
}

// maxText is how many bytes of a text an order looks at: a place travels in the address of a page.
const maxText = 200

func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

func (o *SortOrder[T]) compare(a, b sortValues) int {
	for n, by := range o.by {
		var c int
		if text, isText := a[n].(string); isText {
			c = strings.Compare(text, b[n].(string))
		} else {
			c = cmp.Compare(a[n].(float64), b[n].(float64))
		}
		switch {
		case c != 0 && by.down:
			return -c
		case c != 0:
			return c
		}
	}
	return 0
}
