package agenda

import "strings"

// expression is a condition or several joined ones.
type expression interface {
	holds(Lookup) bool
	properties(do func(name string))
	String() string
}

type (
	joined struct {
		any   bool // one of the parts is enough: or; else and
		parts []expression
	}
	negation  struct{ of expression }
	condition struct{ flag string } // a flag by itself

	comparison struct {
		sign        string // canonical: = != < <= > >= in has
		left, right operand
	}
)

// operand is a property, a computation, or a literal of the kind that the other side asks for.
type operand struct {
	property string // "" for a literal or a computation
	computed *computation
	literal  Value
	matches  func(text string) bool // of a literal that is a pattern; else nil
}

func (j joined) holds(lookup Lookup) bool {
	for _, part := range j.parts {
		if part.holds(lookup) == j.any {
			return j.any
		}
	}
	return !j.any
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
		return c.sign == "!=" && c.left.computed == nil && c.right.computed == nil
	}
	switch c.sign {
	case "=", "!=":
		return c.equal(left, right) == (c.sign == "=")
	case "in":
		return contains(right, left)
	case "has":
		return contains(left, right)
	}
	order, ok := compare(left, right)
	switch c.sign {
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// equal compares two values, of which one may be a pattern.
func (c comparison) equal(left, right Value) bool {
	switch {
	case c.left.matches != nil:
		return c.left.matches(right.String())
	case c.right.matches != nil:
		return c.right.matches(left.String())
	}
	return same(left, right)
}

func (o operand) value(lookup Lookup) (Value, bool) {
	switch {
	case o.computed != nil:
		return o.computed.value(lookup)
	case o.property != "":
		return lookup(o.property)
	}
	return o.literal, true
}

func (j joined) properties(do func(string)) {
	for _, part := range j.parts {
		part.properties(do)
	}
}

func (n negation) properties(do func(string))  { n.of.properties(do) }
func (c condition) properties(do func(string)) { do(c.flag) }

func (c comparison) properties(do func(string)) {
	c.left.properties(do)
	c.right.properties(do)
}

func (o operand) properties(do func(string)) {
	switch {
	case o.computed != nil:
		o.computed.left.properties(do)
		o.computed.right.properties(do)
	case o.property != "":
		do(o.property)
	}
}

func (j joined) String() string {
	joint, write := " and ", grouped
	if j.any { // which binds least of all
		joint, write = " or ", expression.String
	}
	texts := make([]string, len(j.parts))
	for i, part := range j.parts {
		texts[i] = write(part)
	}
	return strings.Join(texts, joint)
}
func (n negation) String() string   { return "not " + grouped(n.of) }
func (c condition) String() string  { return c.flag }
func (c comparison) String() string { return c.left.String() + " " + c.sign + " " + c.right.String() }

func (o operand) String() string {
	switch {
	case o.computed != nil:
		return o.computed.String()
	case o.property != "":
		return o.property
	case o.literal.Kind == KindText:
		return quote(o.literal.Text)
	}
	return o.literal.String()
}

// grouped is the text of an expression as a part of another expression that binds more tightly than or.
func grouped(e expression) string {
	if _, ok := e.(joined); ok {
		return "(" + e.String() + ")"
	}
	return e.String()
}
