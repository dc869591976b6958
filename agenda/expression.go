package agenda

import "strings"

// binding is how tightly an operator holds its sides together.
type binding uint8

const (
	bindOr binding = iota
	bindAnd
	bindNot
)

// expression is a condition or several joined ones.
type expression interface {
	holds(Lookup) bool
	properties(do func(name string))
	binds() binding
	print(*strings.Builder)
}

type (
	conjunction []expression
	disjunction []expression
	negation    struct{ of expression }
	condition   struct{ flag string } // a flag by itself

	comparison struct {
		sign        string // canonical: = != < <= > >= in has
		left, right operand
	}
)

// operand is a property, or a literal of the kind that the other side asks for.
type operand struct {
	property string // "" for a literal
	literal  Value
}

func (c conjunction) holds(lookup Lookup) bool {
	for _, part := range c {
		if !part.holds(lookup) {
			return false
		}
	}
	return true
}

func (d disjunction) holds(lookup Lookup) bool {
	for _, part := range d {
		if part.holds(lookup) {
			return true
		}
	}
	return false
}

func (n negation) holds(lookup Lookup) bool { return !n.of.holds(lookup) }

func (c condition) holds(lookup Lookup) bool {
	value, ok := lookup(c.flag)
	return ok && value.Number != 0
}

func (c comparison) holds(lookup Lookup) bool {
	left, ok := c.left.value(lookup)
	right, okToo := c.right.value(lookup)
	if !ok || !okToo {
		return c.sign == "!="
	}
	switch c.sign {
	case "=":
		return same(left, right)
	case "!=":
		return !same(left, right)
	case "in":
		return contains(right, left)
	case "has":
		return contains(left, right)
	}
	order, ok := compare(left, right)
	return ok && c.ordered(order)
}

// ordered says whether an order of the sides, as of cmp.Compare, is what the sign asks for.
func (c comparison) ordered(order int) bool {
	switch c.sign {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	panic("agenda: no such comparison: " + c.sign)
}

func (o operand) value(lookup Lookup) (Value, bool) {
	if o.property == "" {
		return o.literal, true
	}
	return lookup(o.property)
}

func (c conjunction) properties(do func(string)) {
	for _, part := range c {
		part.properties(do)
	}
}

func (d disjunction) properties(do func(string)) {
	for _, part := range d {
		part.properties(do)
	}
}

func (n negation) properties(do func(string))  { n.of.properties(do) }
func (c condition) properties(do func(string)) { do(c.flag) }

func (c comparison) properties(do func(string)) {
	for _, side := range []operand{c.left, c.right} {
		if side.property != "" {
			do(side.property)
		}
	}
}

func (conjunction) binds() binding { return bindAnd }
func (disjunction) binds() binding { return bindOr }
func (negation) binds() binding    { return bindNot }
func (condition) binds() binding   { return bindNot }
func (comparison) binds() binding  { return bindNot }

func (c conjunction) print(b *strings.Builder) { printJoined(b, c, " and ", bindNot) }
func (d disjunction) print(b *strings.Builder) { printJoined(b, d, " or ", bindAnd) }
func (c condition) print(b *strings.Builder)   { b.WriteString(c.flag) }

func (n negation) print(b *strings.Builder) {
	b.WriteString("not ")
	b.WriteString(printed(n.of, bindNot))
}

func (c comparison) print(b *strings.Builder) {
	b.WriteString(c.left.String())
	b.WriteString(" " + c.sign + " ")
	b.WriteString(c.right.String())
}

func (o operand) String() string {
	switch {
	case o.property != "":
		return o.property
	case o.literal.Kind == KindText:
		return quote(o.literal.Text)
	}
	return o.literal.String()
}

func printJoined(b *strings.Builder, parts []expression, joint string, least binding) {
	for i, part := range parts {
		if i > 0 {
			b.WriteString(joint)
		}
		b.WriteString(printed(part, least))
	}
}

// printed is the text of an expression, in parentheses if it binds less tightly than its place asks for.
func printed(e expression, least binding) string {
	var b strings.Builder
	e.print(&b)
	if e.binds() < least {
		return "(" + b.String() + ")"
	}
	return b.String()
}
