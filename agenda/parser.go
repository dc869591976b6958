package agenda

import (
	"slices"
	"strings"

	"qb/internal/units"
)

// parser reads requirements by recursive descent:
//
//	or         = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" or ")" | comparison
//	comparison = operand [ sign operand ]
//
// An operand is in arithmetic.go.
type parser struct {
	language string
	text     string
	tokens   []token
	at       int
	depth    int
	computed int // signs of arithmetic in the operand that is being read
	known    properties
}

// parseText reads a text of the language. A blank one joins no conditions, so that it always holds.
func parseText(language, text string, known []Property) (expression, *SyntaxError) {
	if len(text) > maxRequirement {
		return nil, complaint(language, text[:maxRequirement], 0, "the text has %d bytes, more than %d; use fewer conditions",
			len(text), maxRequirement)
	}
	tokens, err := lex(language, text)
	if err != nil {
		return nil, err
	}
	p := &parser{language: language, text: text, tokens: tokens, known: known}
	if p.peek().kind == tokenEnd {
		return joined{}, nil
	}
	return p.parseAll()
}

// isProperty says whether a token means a property: in requirements by how it begins, in a filter by its name.
func (p *parser) isProperty(t token) bool {
	if t.kind != tokenWord {
		return false
	}
	if p.language == filterText {
		_, ok := p.known.kind(t.text)
		return ok
	}
	return namesProperty(t.text)
}

// example is a condition as the language has it.
func (p *parser) example() string {
	if p.language == filterText {
		return "status = failed"
	}
	return "host.os = linux"
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// take steps over a sign if it is the next token.
func (p *parser) take(sign string) bool {
	if t := p.peek(); t.kind != tokenSign || t.text != sign {
		return false
	}
	p.at++
	return true
}

func (p *parser) fail(t token, format string, args ...any) *SyntaxError {
	return complaint(p.language, p.text, t.offset, format, args...)
}

// source is a token as it was written.
func (p *parser) source(t token) string {
	end := len(p.text)
	if i := slices.IndexFunc(p.tokens, func(u token) bool { return u.offset > t.offset }); i >= 0 {
		end = p.tokens[i].offset
	}
	return units.Quoted(strings.TrimSpace(p.text[t.offset:end]))
}

func (p *parser) parseAll() (expression, *SyntaxError) {
	whole, err := p.parseOr()
	if err != nil {
		return nil, err
	}
	switch t := p.peek(); {
	case t.kind == tokenEnd:
		return whole, nil
	case t.kind == tokenSign && t.text == ")":
		return nil, p.fail(t, "this parenthesis was never opened; remove it or open it before")
	case t.kind == tokenSign && t.text != "(" && t.text != "not":
		return nil, p.fail(t, "a comparison has two sides only; join two comparisons with and")
	default:
		return nil, p.fail(t, "%s is not expected here%s; join conditions with and or or, and quote text with blanks",
			p.source(t), suggestion(t.text, []string{"and", "or"}))
	}
}

func (p *parser) parseOr() (expression, *SyntaxError)  { return p.parseJoined("or", p.parseAnd) }
func (p *parser) parseAnd() (expression, *SyntaxError) { return p.parseJoined("and", p.parseNot) }

// parseJoined reads what a sign joins, one or more; parts that are joined in the same way are taken apart.
func (p *parser) parseJoined(sign string, read func() (expression, *SyntaxError)) (expression, *SyntaxError) {
	whole := joined{any: sign == "or"}
	for again := true; again; again = p.take(sign) {
		part, err := read()
		if err != nil {
			return nil, err
		}
		if inner, ok := part.(joined); ok && inner.any == whole.any {
			whole.parts = append(whole.parts, inner.parts...)
		} else {
			whole.parts = append(whole.parts, part)
		}
	}
	if len(whole.parts) == 1 {
		return whole.parts[0], nil
	}
	return whole, nil
}

func (p *parser) parseNot() (expression, *SyntaxError) {
	start := p.peek()
	if err := p.deeper(start); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	switch {
	case p.opensOperand():
		return p.parseComparison()
	case p.take("not"):
		of, err := p.parseNot()
		return negation{of}, err
	case p.take("("):
		inner, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		return inner, p.closed(start)
	}
	return p.parseComparison()
}

// deeper steps into a parenthesis or behind a not.
func (p *parser) deeper(start token) *SyntaxError {
	if p.depth++; p.depth > maxDepth {
		return p.fail(start, "parentheses and nots are nested more than %d deep; write it more simply", maxDepth)
	}
	return nil
}

// closed steps over the end of the parenthesis that start opened.
func (p *parser) closed(start token) *SyntaxError {
	switch t := p.peek(); {
	case p.take(")"):
		return nil
	case t.kind == tokenEnd:
		return p.fail(start, "this parenthesis is never closed; add a )")
	default:
		return p.fail(t, "%s is not expected here; close the parenthesis, or join conditions with and or or", p.source(t))
	}
}

func (p *parser) parseComparison() (expression, *SyntaxError) {
	p.computed = 0
	left, err := p.parseOperand("a condition such as "+p.example(), loosest)
	if err != nil {
		return nil, err
	}
	sign := p.peek()
	if !compares(sign) {
		return p.alone(left)
	}
	p.next()
	p.computed = 0
	right, err := p.parseOperand("a value after "+sign.text, loosest)
	if err != nil {
		return nil, err
	}
	return p.resolve(left, sign, right)
}

// compares says whether a token is between the two sides of a comparison.
func compares(t token) bool {
	return t.kind == tokenSign && slices.Contains([]string{"=", "!=", "<", "<=", ">", ">=", "in", "has"}, t.text)
}

// checkOperand refuses what cannot be a side of a comparison.
func (p *parser) checkOperand(t token, wanted string) *SyntaxError {
	switch {
	case t.kind == tokenEnd:
		return p.fail(t, "%s is missing at the end", wanted)
	case t.kind == tokenSign:
		return p.fail(t, "%s is missing before %s", wanted, p.source(t))
	case p.isProperty(t):
		if _, ok := p.known.kind(t.text); !ok {
			return p.fail(t, "there is no property %s%s (quote it if it is text)", units.Quoted(t.text), p.known.suggest(t.text))
		}
	}
	return nil
}

// alone is a condition of one word: a flag.
func (p *parser) alone(s side) (expression, *SyntaxError) {
	if !s.property {
		return nil, p.fail(s.token, "%s is not a condition%s; write one such as %s", p.source(s.token), p.meant(s.token),
			p.example())
	}
	if s.kind != KindFlag {
		if next := p.peek(); next.kind == tokenWord && !p.isProperty(next) {
			return nil, p.fail(next, "%s is not an operator; write =, !=, <, <=, >, >=, in or has after %s", p.source(next),
				s.text)
		}
		return nil, p.fail(s.token, "%s is not true or false; compare it with something, as in %s = …", s.text, s.text)
	}
	return condition{s.text}, nil
}

// meant suggests the property for a bare word that lacks its first part.
func (p *parser) meant(t token) string {
	if p.language == filterText && t.kind == tokenWord {
		return p.known.suggest(t.text)
	}
	for _, class := range []string{"host.", "job."} {
		if _, ok := p.known.kind(class + t.text); ok && t.kind == tokenWord {
			return "; did you mean " + class + t.text + "?"
		}
	}
	return ""
}
