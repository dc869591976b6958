package agenda

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"qb/internal/units"
)

// PropertyKind is what the values of a property are.
type PropertyKind uint8

// The kinds. A size is in bytes; a literal compared with it may have a unit and is in MiB without one. A
// flag is true or false and may stand alone as a condition.
const (
	KindText PropertyKind = iota
	KindNumber
	KindSize
	KindList
	KindFlag
)

// Property is a name that requirements may use, such as host.os or job.priority. A name that ends in
// ".*" means all names that begin so and have one more part: host.flag.*.
type Property struct {
	Name string
	Kind PropertyKind
}

// Value is what a property is on one host for one job. Numbers, sizes and flags (0 or 1) are in Number.
type Value struct {
	Kind   PropertyKind
	Text   string
	Number float64
	List   []string
}

// TextValue, NumberValue, SizeValue, ListValue and FlagValue make values of their kinds.
func TextValue(text string) Value      { return Value{Kind: KindText, Text: text} }
func NumberValue(number float64) Value { return Value{Kind: KindNumber, Number: number} }
func SizeValue(bytes int64) Value      { return Value{Kind: KindSize, Number: float64(bytes)} }
func ListValue(list []string) Value    { return Value{Kind: KindList, List: list} }
func FlagValue(set bool) Value {
	if set {
		return Value{Kind: KindFlag, Number: 1}
	}
	return Value{Kind: KindFlag}
}

// String is the value as requirements write it.
func (v Value) String() string {
	switch v.Kind {
	case KindNumber:
		return strconv.FormatFloat(v.Number, 'f', -1, 64)
	case KindSize:
		return units.ExactSize(int64(v.Number))
	case KindList:
		return strings.Join(v.List, ",")
	case KindFlag:
		if v.Number != 0 {
			return "true"
		}
		return "false"
	}
	return v.Text
}

// Lookup gives the value of a property, or false if the host or job does not have it.
type Lookup func(name string) (Value, bool)

// properties finds the kind of a name and, if there is none, the name that was perhaps meant.
type properties []Property

func (known properties) kind(name string) (PropertyKind, bool) {
	for _, p := range known {
		if p.Name == name {
			return p.Kind, true
		}
	}
	for _, p := range known {
		prefix, wild := strings.CutSuffix(p.Name, "*")
		if part, ok := strings.CutPrefix(name, prefix); wild && ok && part != "" && !strings.Contains(part, ".") {
			return p.Kind, true
		}
	}
	return 0, false
}

// names lists the properties for an error.
func (known properties) names() string {
	list := make([]string, len(known))
	for n, p := range known {
		list[n] = p.Name
	}
	return units.Few(list)
}

func (known properties) suggest(name string) string {
	names := make([]string, 0, len(known))
	for _, p := range known {
		if !strings.HasSuffix(p.Name, "*") {
			names = append(names, p.Name)
		}
	}
	var longer []string // host.memory, where host.memory.total and others are known
	for _, known := range names {
		if strings.HasPrefix(known, name+".") {
			longer = append(longer, known)
		}
	}
	slices.Sort(longer)
	if len(longer) > 0 {
		return "; there is " + strings.Join(longer, ", ")
	}
	return suggestion(name, names)
}

// compare orders two values: as numbers if both are numbers or look like numbers, as text if neither
// does. A number and a word have no order.
func compare(a, b Value) (order int, ok bool) {
	x, xNumber := a.number()
	y, yNumber := b.number()
	if xNumber && yNumber {
		return cmp.Compare(x, y), true
	}
	return strings.Compare(a.String(), b.String()), xNumber == yNumber
}

// same is equality. Two texts must be identical, so version 1.10 is not 1.1.
func same(a, b Value) bool {
	if a.Kind == KindText && b.Kind == KindText {
		return a.Text == b.Text
	}
	order, ok := compare(a, b)
	return ok && order == 0
}

func (v Value) number() (float64, bool) {
	switch v.Kind {
	case KindText:
		return parseNumber(v.Text)
	case KindList:
		return 0, false
	}
	return v.Number, true
}

// contains says whether a list has an entry. Text is a comma list.
func contains(list, entry Value) bool {
	wanted := entry.String()
	if list.Kind == KindList {
		return slices.Contains(list.List, wanted)
	}
	for part := range strings.SplitSeq(list.String(), ",") {
		if strings.TrimSpace(part) == wanted {
			return true
		}
	}
	return false
}

// parseNumber reads a plain decimal number: a sign, digits, a fraction, and nothing else that a computer
// might take for a number.
func parseNumber(text string) (float64, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if len(text)-len(digits) > 1 || digits == "" || len(digits) > 40 || digits[0] == '.' ||
		strings.HasSuffix(digits, ".") {
		return 0, false
	}
	if strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && math.Abs(number) <= 1e30
}
