package agenda

import (
	"strings"

	"qb/internal/units"
)

// side is one side of a comparison while the type that the other side gives it is not known.
type side struct {
	token
	property bool         // it has a kind of its own: a property or a computation
	kind     PropertyKind // of those
	computed *computation // text is then its text in quotes, shortened, for errors
}

func (p *parser) side(t token) side {
	s := side{token: t, property: p.isProperty(t)}
	if s.property {
		s.kind, _ = p.known.kind(t.text)
	}
	return s
}

// resolve checks that the two sides go together and gives literals the kind of the property they are
// compared with, so that mistakes are found at submission and not by a job that never runs.
func (p *parser) resolve(l side, sign token, r side) (expression, *SyntaxError) {
	if l.constant() && r.constant() {
		return nil, p.noProperty(l, r)
	}
	l, r = l.besides(r), r.besides(l)
	var err *SyntaxError
	switch sign.text {
	case "in":
		err = p.checkMembership(l, sign, r)
	case "has":
		err = p.checkMembership(r, sign, l)
	default:
		err = p.checkComparison(l, sign, r)
	}
	if err != nil {
		return nil, err
	}
	c := comparison{sign: sign.text}
	if c.left, err = p.operand(l, r, sign.text == "in" || sign.text == "has"); err != nil {
		return nil, err
	}
	if c.right, err = p.operand(r, l, sign.text == "in" || sign.text == "has"); err != nil {
		return nil, err
	}
	return c, nil
}

// noProperty is the error of a comparison of two values: it names the word that was meant as a property, not the value.
func (p *parser) noProperty(l, r side) *SyntaxError {
	there := "properties begin with host. or job."
	if p.language == filterText {
		there = "there are " + p.known.names()
	}
	var words []side
	for _, s := range []side{l, r} {
		if !s.word() {
			continue
		}
		words = append(words, s)
		if hint := p.meant(s.token); hint != "" {
			return p.fail(s.token, "%s is not a property%s", p.named(s), hint)
		}
	}
	switch len(words) {
	case 0:
		return p.fail(l.token, "%s and %s are both values; compare a property with a value; %s", p.named(l), p.named(r),
			there)
	case 1:
		return p.fail(words[0].token, "%s is not a property; %s", p.named(words[0]), there)
	}
	return p.fail(l.token, "neither %s nor %s is a property; %s", p.named(l), p.named(r), there)
}

// besides is a side next to another one: a computed number is in MB next to a size, as a literal is.
func (s side) besides(other side) side {
	if s.computed == nil || s.kind != KindNumber || !other.property || other.kind != KindSize {
		return s
	}
	size := *s.computed
	size.kind, size.megabytes = KindSize, true
	s.computed, s.kind = &size, KindSize
	return s
}

func (p *parser) checkMembership(entry side, sign token, list side) *SyntaxError {
	switch {
	case entry.property && (entry.kind == KindList || entry.kind == KindSize || entry.kind == KindFlag):
		return p.fail(entry.token, "%s is %s and cannot be looked for in a list; use = or another comparison", entry.text,
			entry.kind)
	case list.property && list.kind != KindList && list.kind != KindText:
		return p.fail(list.token, "%s is %s, not a list; %s needs a list, as in host.groups has farm", list.text, list.kind,
			sign.text)
	}
	return nil
}

func (p *parser) checkComparison(l side, sign token, r side) *SyntaxError {
	for _, s := range []side{l, r} {
		switch {
		case s.property && s.kind == KindList:
			return p.fail(s.token, "%s is a list; write %s has …", s.text, s.text)
		case s.property && s.kind == KindFlag && sign.text != "=" && sign.text != "!=":
			return p.fail(sign, "%s is true or false and has no order; use = or !=", s.text)
		}
	}
	if l.property && r.property && l.kind != r.kind && (mixesBadly(l.kind) || mixesBadly(r.kind)) {
		return p.fail(sign, "%s is %s and %s is %s; they cannot be compared", l.text, l.kind, r.text, r.kind)
	}
	return nil
}

func mixesBadly(k PropertyKind) bool { return k == KindSize || k == KindFlag }

// operand makes a side of a comparison; a literal becomes what the other side is.
func (p *parser) operand(s, other side, membership bool) (operand, *SyntaxError) {
	switch {
	case s.computed != nil:
		return operand{computed: s.computed}, nil
	case s.property:
		return operand{property: s.text}, nil
	}
	text := TextValue(s.text)
	if membership {
		return operand{literal: text}, nil
	}
	switch other.kind {
	case KindNumber:
		number, ok := parseNumber(s.text)
		if !ok {
			return operand{}, p.fail(s.token, "%s is a number, and %s is not; write a number without a unit", other.text,
				p.source(s.token))
		}
		return operand{literal: NumberValue(number)}, nil
	case KindSize:
		bytes, err := units.ParseSize(s.text, units.MiB)
		if err != nil {
			return operand{}, p.fail(s.token, "%s", err)
		}
		return operand{literal: SizeValue(bytes)}, nil
	case KindFlag:
		switch strings.ToLower(s.text) {
		case "1", "true", "yes", "on":
			return operand{literal: FlagValue(true)}, nil
		case "0", "false", "no", "off":
			return operand{literal: FlagValue(false)}, nil
		}
		return operand{}, p.fail(s.token, "%s is true or false, and %s is neither", other.text, p.source(s.token))
	}
	matches, err := p.pattern(s.token)
	return operand{literal: text, matches: matches}, err
}

var kindNames = map[PropertyKind]string{KindText: "text", KindNumber: "a number", KindSize: "a size",
	KindList: "a list", KindFlag: "true or false"}

// String is the kind as errors say it.
func (k PropertyKind) String() string { return kindNames[k] }
