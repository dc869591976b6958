package agenda

import (
	"math"

	"qb/internal/units"
)

// operator is what a sign of arithmetic does.
type operator struct {
	level int  // how tightly it binds
	bits  bool // it wants whole numbers
	of    func(x, y float64) float64
}

// operators are the operators by sign. Operators of the same level are applied from left to right:
//
//	operand = value { sign operand of a higher level }
//	value   = word | quoted text | "(" operand ")"
var operators = map[string]operator{
	"min": {loosest, false, math.Min},
	"max": {loosest, false, math.Max},
	"|":   {1, true, func(x, y float64) float64 { return float64(int64(x) | int64(y)) }},
	"xor": {2, true, func(x, y float64) float64 { return float64(int64(x) ^ int64(y)) }},
	"&":   {3, true, func(x, y float64) float64 { return float64(int64(x) & int64(y)) }},
	"<<":  {4, true, func(x, y float64) float64 { return math.Ldexp(x, int(y)) }},
	">>":  {4, true, func(x, y float64) float64 { return float64(int64(x) >> int64(y)) }},
	"add": {5, false, func(x, y float64) float64 { return x + y }},
	"sub": {5, false, func(x, y float64) float64 { return x - y }},
	"mul": {6, false, func(x, y float64) float64 { return x * y }},
	"div": {6, false, func(x, y float64) float64 { return x / y }}, // by zero: infinite or not a number
	"mod": {6, false, math.Mod},
}

const (
	loosest      = 0
	maxComputed  = 64      // signs of arithmetic in one side of a comparison
	largestExact = 1 << 53 // beyond it float64 has no longer every whole number
)

// computation is a number or a size made of two others. It has no value where a part of it has none, is not a number,
// or where the result is not defined or beyond largestExact.
type computation struct {
	sign        string
	left, right operand
	kind        PropertyKind // KindNumber or KindSize
	megabytes   bool         // a size that was computed of numbers alone
}

func (c *computation) value(lookup Lookup) (Value, bool) {
	l, ok := c.left.value(lookup)
	r, okToo := c.right.value(lookup)
	if !ok || !okToo {
		return Value{}, false
	}
	x, ok := l.number()
	y, okToo := r.number()
	if !ok || !okToo {
		return Value{}, false
	}
	result, ok := compute(c.sign, x, y)
	if c.megabytes {
		result *= float64(units.MiB)
	}
	return Value{Kind: c.kind, Number: result}, ok
}

func compute(sign string, x, y float64) (result float64, ok bool) {
	op := operators[sign]
	if op.bits {
		if x != math.Trunc(x) || y != math.Trunc(y) || math.Abs(x) > largestExact || math.Abs(y) > largestExact {
			return 0, false
		}
		if (sign == "<<" || sign == ">>") && (y < 0 || y > 53) {
			return 0, false
		}
	}
	result = op.of(x, y)
	return result + 0, math.Abs(result) <= largestExact // which no NaN is; + 0 takes the sign from -0
}

// String has no more parentheses than the text it was read from, so that it is nested no deeper.
func (c *computation) String() string {
	level := operators[c.sign].level
	return c.left.within(level) + " " + c.sign + " " + c.right.within(level+1)
}

// within is the text of an operand where signs below the level need parentheses.
func (o operand) within(level int) string {
	if o.computed != nil && operators[o.computed.sign].level < level {
		return "(" + o.String() + ")"
	}
	return o.String()
}

// opensOperand says whether the next token opens a parenthesis around a side of a comparison, not around a condition:
// arithmetic or a comparison goes on behind it.
func (p *parser) opensOperand() bool {
	open := 0
	for at, t := range p.tokens[p.at:] {
		switch {
		case t.kind != tokenSign:
		case t.text == "(":
			open++
		case t.text == ")":
			open--
		}
		if open == 0 {
			next := p.tokens[min(p.at+at+1, len(p.tokens)-1)]
			_, computes := operators[next.text]
			return at > 0 && (compares(next) || next.kind == tokenSign && computes)
		}
	}
	return false
}

// parseOperand reads a side of a comparison with signs of the level and higher ones.
func (p *parser) parseOperand(wanted string, level int) (side, *SyntaxError) {
	left, err := p.parseValue(wanted)
	for err == nil {
		sign := p.peek()
		op, computes := operators[sign.text]
		if sign.kind != tokenSign || !computes || op.level < level {
			return left, nil
		}
		if p.computed++; p.computed > maxComputed {
			return side{}, p.fail(sign, "one side of a comparison has more than %d operators; write it more simply", maxComputed)
		}
		p.next()
		var right side
		if right, err = p.parseOperand("a value after "+sign.text, op.level+1); err == nil {
			left, err = p.compute(left, sign, right)
		}
	}
	return side{}, err
}

func (p *parser) parseValue(wanted string) (side, *SyntaxError) {
	start := p.peek()
	if !p.take("(") {
		t := p.next()
		return p.side(t), p.checkOperand(t, wanted)
	}
	if err := p.deeper(start); err != nil {
		return side{}, err
	}
	defer func() { p.depth-- }()
	inner, err := p.parseOperand(wanted, loosest)
	if err != nil {
		return side{}, err
	}
	return inner, p.closed(start)
}

// compute joins two sides by a sign of arithmetic. Sizes are added to, and compared with, sizes only; they may be
// multiplied by and divided by numbers, and divided by sizes.
func (p *parser) compute(l side, sign token, r side) (side, *SyntaxError) {
	scales := sign.text == "mul" || sign.text == "div"
	size := !scales && (l.isSize() || r.isSize())
	left, err := p.amount(l, sign, size)
	if err != nil {
		return side{}, err
	}
	right, err := p.amount(r, sign, size)
	if err != nil {
		return side{}, err
	}
	c := &computation{sign: sign.text, left: left.operand, right: right.operand, kind: KindNumber}
	sizes := left.kind == KindSize && right.kind == KindSize
	switch either := left.kind == KindSize || right.kind == KindSize; {
	case either && operators[sign.text].bits:
		size := l
		if left.kind != KindSize {
			size = r
		}
		return side{}, p.fail(sign, "%s computes with the bits of whole numbers, and %s is a size%s", sign.text, size.text,
			meantBy[sign.text])
	case sizes && sign.text == "mul", !sizes && right.kind == KindSize && sign.text == "div", either && !sizes && !scales:
		return side{}, p.fail(sign, "%s cannot join %s and %s", sign.text, left.kind, right.kind)
	case either && !(sizes && sign.text == "div"):
		c.kind = KindSize
	}
	return side{token: token{tokenWord, units.Quoted(c.String()), l.offset}, property: true, kind: c.kind, computed: c},
		nil
}

// meantBy is what was probably meant by a sign of bits beside a size.
var meantBy = map[string]string{
	">>": "; to compare, write > or >=",
	"<<": "; to compare, write < or <=",
	"&":  "; to join conditions, write and",
	"|":  "; to join conditions, write or",
}

// amount is a part of a computation and whether it is a number or a size.
type amount struct {
	operand
	kind PropertyKind
}

// amount reads a side as a number or a size. A property that is text counts as a number, as hosts bring theirs as text.
func (p *parser) amount(s side, sign token, size bool) (amount, *SyntaxError) {
	if s.property {
		switch s.kind {
		case KindList, KindFlag:
			return amount{}, p.fail(s.token, "%s is %s; %s needs numbers or sizes", s.text, s.kind, sign.text)
		case KindText:
			return amount{operand{property: s.text}, KindNumber}, nil
		}
		return amount{operand{property: s.text, computed: s.computed}, s.kind}, nil
	}
	number, isNumber := parseNumber(s.text)
	if isNumber && !size {
		return amount{operand{literal: NumberValue(number)}, KindNumber}, nil
	}
	bytes, err := units.ParseSize(s.text, units.MiB)
	if err != nil {
		return amount{}, p.fail(s.token,
			"%s is neither a number nor a size, and %s needs one; conditions are joined with and or or", p.source(s.token),
			sign.text)
	}
	return amount{operand{literal: SizeValue(bytes)}, KindSize}, nil
}

// isSize says whether a side is a size, or a literal with a unit.
func (s side) isSize() bool {
	if s.property {
		return s.kind == KindSize
	}
	_, isNumber := parseNumber(s.text)
	return !isNumber
}

// constant says whether a side has no property in it.
func (s side) constant() bool {
	if s.computed == nil {
		return !s.property
	}
	found := false
	operand{computed: s.computed}.properties(func(string) { found = true })
	return !found
}

// word says whether a side may be the name of a property: it is neither quoted nor a number or a size, nor computed.
func (s side) word() bool {
	if s.computed != nil || s.token.kind != tokenWord {
		return false
	}
	_, err := units.ParseSize(s.text, units.MiB)
	return err != nil
}

// named is a side as errors call it.
func (p *parser) named(s side) string {
	if s.computed != nil {
		return s.text
	}
	return p.source(s.token)
}
