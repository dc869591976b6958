package openjd

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// standardAmounts are the amounts that the specification defines (3.3.1.1).
var standardAmounts = []string{
	"amount.worker.vcpu", "amount.worker.memory", "amount.worker.gpu", "amount.worker.gpu.memory", "amount.worker.disk.scratch",
}

// standardAttributes are the attributes that the specification defines, with their values (3.3.2.1).
var standardAttributes = map[string][]string{
	"attr.worker.os.family": {"linux", "windows", "macos"},
	"attr.worker.cpu.arch":  {"x86_64", "arm64"},
}

// reservedScopes are the first words after amount and attr that only the specification uses.
var reservedScopes = []string{"worker", "job", "step", "task"}

const (
	maxRequirements = 50
	maxCapability   = 100 // characters of a name or a value
)

// A hostReader reads requirements.
type hostReader struct{ *reader }

// requirements reads what a step needs of a host (3.3).
func (r hostReader) requirements(v *value, path string) *requirementsTemplate {
	t := &requirementsTemplate{}
	o := r.object(v, path, "amounts", "attributes")
	if o == nil {
		return t
	}
	amounts, amountsPath := o.child("amounts")
	attributes, attributesPath := o.child("attributes")
	if o.v.get("amounts") == nil && o.v.get("attributes") == nil {
		r.complain(v, path, "has neither amounts nor attributes; give it one of them, or leave it out")
	}
	names := map[string]bool{}
	if amounts != nil {
		for i, item := range r.list(amounts, amountsPath, 1, 0) {
			t.amounts = append(t.amounts, r.amount(item, index(amountsPath, i), names))
		}
	}
	if attributes != nil {
		for i, item := range r.list(attributes, attributesPath, 1, 0) {
			t.attributes = append(t.attributes, r.attribute(item, index(attributesPath, i), names))
		}
	}
	if n := len(t.amounts) + len(t.attributes); n > maxRequirements {
		r.complain(v, path, "has %d amounts and attributes, and at most %d are allowed", n, maxRequirements)
	}
	return t
}

// capability reads the name of an amount or an attribute. It is checked here if it has no references, else when the
// job is created.
func (r hostReader) capability(o *object, group string, names map[string]bool) Format {
	v, path := o.need("name")
	if v == nil {
		return Format{}
	}
	if v.kind != text {
		r.complain(v, path, "is %s; write a string", v.kind)
		return Format{}
	}
	f := r.format(v, path, formatRule{least: 1, most: maxCapability}, scope{where: "a requirement"})
	if f.Literal() && f.parts != nil {
		if err := checkCapability(f.Text, group, names); err != nil {
			r.complain(v, path, "%v", err)
		}
	}
	return f
}

// checkCapability checks a name of an amount or an attribute, and that it is not used twice, in any case.
func checkCapability(name, group string, names map[string]bool) error {
	lower := strings.ToLower(name)
	vendor, plain, found := strings.Cut(lower, ":")
	if !found {
		plain = lower
	}
	words := strings.Split(plain, ".")
	wellFormed := !found || isIdentifier(vendor)
	for _, w := range words {
		wellFormed = wellFormed && isIdentifier(w)
	}
	_, attribute := standardAttributes[lower]
	known := attribute || slices.Contains(standardAmounts, lower)
	switch n := utf8.RuneCountInString(name); {
	case n > maxCapability:
		return fmt.Errorf("%s has %d characters, and at most %d are allowed", quote(name), n, maxCapability)
	case !wellFormed || len(words) < 2 || words[0] != group:
		return fmt.Errorf("%s is not a name such as %s.licenses or vendor:%s.licenses", quote(name), group, group)
	case slices.Contains(reservedScopes, words[1]) && !known:
		return fmt.Errorf("%s uses the word %s, which is reserved; write a name such as %s.licenses",
			quote(name), words[1], group)
	case names[lower]:
		return fmt.Errorf("%s is named twice; the names differ in more than case", quote(name))
	}
	names[lower] = true
	return nil
}

// amount reads an amount (3.3.1).
func (r hostReader) amount(v *value, path string, names map[string]bool) amountTemplate {
	t := amountTemplate{}
	o := r.object(v, path, "name", "min", "max")
	if o == nil {
		return t
	}
	t.name = r.capability(o, "amount", names)
	t.min = r.bound(o, "min")
	t.max = r.bound(o, "max")
	if o.v.get("min") == nil && o.v.get("max") == nil {
		r.complain(v, path, "has neither min nor max; give it one of them")
	}
	if literalOrNil(t.min) && literalOrNil(t.max) {
		if _, err := resolveBounds(t, nil); err != nil {
			r.complain(v, path, "%v", err)
		}
	}
	return t
}

func literalOrNil(f *Format) bool { return f == nil || f.Literal() && f.parts != nil }

// bound reads min or max of an amount. Text needs FEATURE_BUNDLE_1.
func (r hostReader) bound(o *object, name string) *Format {
	v, path := o.child(name)
	switch {
	case v == nil:
		return nil
	case v.kind == text && !r.has(FeatureBundle1):
		r.complain(v, path, "is a string; write a number, or name the extension %s in extensions", FeatureBundle1)
		return &Format{}
	case v.kind != text && v.kind != integer && v.kind != float:
		r.complain(v, path, "is %s; write a number", v.kind)
		return &Format{}
	}
	f := r.format(v, path, formatRule{least: 1}, scope{where: "an amount"})
	return &f
}

// resolveBounds are the least and the most of an amount, nil where they are not given.
func resolveBounds(t amountTemplate, values map[string]string) (bounds [2]*float64, err error) {
	for i, f := range []*Format{t.min, t.max} {
		if f == nil {
			continue
		}
		s, err := f.Resolve(values)
		if err != nil {
			return bounds, err
		}
		n, err := parseFloat(s)
		if err != nil {
			return bounds, err
		}
		bounds[i] = &n
	}
	least, most := bounds[0], bounds[1]
	switch {
	case least != nil && *least < 0:
		err = fmt.Errorf("min is %v; write a number from 0", *least)
	case most != nil && *most <= 0:
		err = fmt.Errorf("max is %v; write a number above 0", *most)
	case least != nil && most != nil && *least > *most:
		err = fmt.Errorf("min, %v, is more than max, %v", *least, *most)
	}
	return bounds, err
}

// attribute reads an attribute (3.3.2).
func (r hostReader) attribute(v *value, path string, names map[string]bool) attributeTemplate {
	t := attributeTemplate{}
	o := r.object(v, path, "name", "anyOf", "allOf")
	if o == nil {
		return t
	}
	t.name = r.capability(o, "attr", names)
	s := scope{where: "a requirement"}
	rule := formatRule{least: 1, most: maxCapability}
	any, anyPath := o.child("anyOf")
	all, allPath := o.child("allOf")
	if any != nil {
		t.anyOf = r.formats(any, anyPath, maxRequirements, rule, s)
	}
	if all != nil {
		t.allOf = r.formats(all, allPath, maxRequirements, rule, s)
	}
	if o.v.get("anyOf") == nil && o.v.get("allOf") == nil {
		r.complain(v, path, "has neither anyOf nor allOf; give it one of them")
	}
	name := strings.ToLower(t.name.Text)
	for _, f := range slices.Concat(t.anyOf, t.allOf) {
		if f.Literal() && f.parts != nil {
			if err := checkAttributeValue(name, f.Text); err != nil {
				r.problems = append(r.problems, f.problem("%v", err))
			}
		}
	}
	if err := checkSingle(name, len(t.allOf)); err != nil {
		r.complain(all, allPath, "%v", err)
	}
	return t
}

// checkSingle refuses several values at once of an attribute that has one value on each host.
func checkSingle(name string, n int) error {
	if standardAttributes[strings.ToLower(name)] != nil && n > 1 {
		return fmt.Errorf("a host has one value of %s, and allOf asks for %d", name, n)
	}
	return nil
}

// checkAttributeValue checks a value of an attribute (3.3.2.2), and whether a standard attribute has it.
func checkAttributeValue(name, s string) error {
	if n := utf8.RuneCountInString(s); n > maxCapability {
		return fmt.Errorf("%s has %d characters, and at most %d are allowed", quote(s), n, maxCapability)
	}
	if !isIdentifier(strings.ReplaceAll(s, "-", "_")) || s[0] == '-' {
		return fmt.Errorf("%s is not a value of an attribute: letters of ASCII, digits, _ and -, a letter or _ first",
			quote(s))
	}
	known := standardAttributes[strings.ToLower(name)]
	if known != nil && !slices.Contains(known, strings.ToLower(s)) {
		return fmt.Errorf("%s is not a value of %s; there are %s", quote(s), strings.ToLower(name), shortList(known))
	}
	return nil
}
