package agenda

import (
	"slices"
	"strings"

	"qb/units"
)

// parser reads requirements by recursive descent:
//
//	or         = and { "or" and }
//	and        = not { "and" not }
//	not        = "not" not | "(" or ")" | comparison
//	comparison = operand [ sign operand ]
type parser struct {
	language string
	text     string
	tokens   []token
	at       int
	depth    int
	known    properties
}

// parseText reads a text of the language; nil for a blank one.
func parseText(language, text string, known []Property) (expression, *SyntaxError) {
	if len(text) > maxRequirement {
		return nil, complaint(language, text[:maxRequirement], 0, "the text has %d bytes, more than %d; use fewer conditions", len(text), maxRequirement)
	}
	tokens, err := lex(language, text)
	if err != nil {
		return nil, err
	}
	p := &parser{language: language, text: text, tokens: tokens, known: known}
	if p.peek().kind == tokenEnd {
		return nil, nil
	}
	return p.parseAll()
}

// isProperty says whether a token stands for a property: in requirements by how it begins, in a filter by its name.
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
	case t.kind == tokenWord && arithmetic[strings.ToLower(t.text)]:
		return nil, p.noArithmetic(t)
	default:
		return nil, p.fail(t, "%s is not expected here%s; join conditions with and or or, and quote text with blanks",
			p.source(t), suggestion(t.text, []string{"and", "or"}))
	}
}

func (p *parser) noArithmetic(t token) *SyntaxError {
	return p.fail(t, "the arithmetic of Qube (%s) is not supported; compare a property with a number", t.text)
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
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(start, "parentheses and nots are nested more than %d deep; write it more simply", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("not"):
		of, err := p.parseNot()
		return negation{of}, err
	case p.take("("):
		inner, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		if t := p.peek(); !p.take(")") {
			if t.kind == tokenEnd {
				return nil, p.fail(start, "this parenthesis is never closed; add a )")
			}
			return nil, p.fail(t, "%s is not expected here; close the parenthesis, or join conditions with and or or", p.source(t))
		}
		return inner, nil
	}
	return p.parseComparison()
}

func (p *parser) parseComparison() (expression, *SyntaxError) {
	left := p.next()
	if err := p.checkOperand(left, "a condition such as "+p.example()); err != nil {
		return nil, err
	}
	sign := p.peek()
	if sign.kind != tokenSign || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">=", "in", "has"}, sign.text) {
		return p.alone(left)
	}
	p.next()
	right := p.next()
	if err := p.checkOperand(right, "a value after "+sign.text); err != nil {
		return nil, err
	}
	return p.resolve(left, sign, right)
}

// checkOperand refuses what cannot be a side of a comparison.
func (p *parser) checkOperand(t token, wanted string) *SyntaxError {
	switch {
	case t.kind == tokenEnd:
		return p.fail(t, "%s is missing at the end", wanted)
	case t.kind == tokenSign:
		return p.fail(t, "%s is missing before %s", wanted, p.source(t))
	case t.kind == tokenWord && arithmetic[strings.ToLower(t.text)]:
		return p.noArithmetic(t)
	case p.isProperty(t):
		if _, ok := p.known.kind(t.text); !ok {
			return p.fail(t, "there is no property %s%s (quote it if it is text)", units.Quoted(t.text), p.known.suggest(t.text))
		}
	}
	return nil
}

// alone is a condition of one word: a flag.
func (p *parser) alone(t token) (expression, *SyntaxError) {
	if !p.isProperty(t) {
		return nil, p.fail(t, "%s is not a condition%s; write one such as %s", p.source(t), p.meant(t), p.example())
	}
	if kind, _ := p.known.kind(t.text); kind != KindFlag {
		if next := p.peek(); next.kind == tokenWord && !p.isProperty(next) {
			if arithmetic[strings.ToLower(next.text)] {
				return nil, p.noArithmetic(next)
			}
			return nil, p.fail(next, "%s is not an operator; write =, !=, <, <=, >, >=, in or has after %s", p.source(next), t.text)
		}
		return nil, p.fail(t, "%s is not true or false; compare it with something, as in %s = …", t.text, t.text)
	}
	return condition{t.text}, nil
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
