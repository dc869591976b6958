package openjd

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Type is the type of a job parameter.
type Type string

// The types of job parameters (2).
const (
	String Type = "STRING"
	Path   Type = "PATH"
	Int    Type = "INT"
	Float  Type = "FLOAT"
)

// maxParameterText is the longest value of a STRING or PATH parameter, in characters (2.5).
const maxParameterText = 1024

// A Parameter is the definition of a job parameter: its type and what its value must satisfy.
type Parameter struct {
	Name        string
	Type        Type
	Description string
	Default     *string  // nil: none
	Allowed     []string // nil: all
	MinLength   *int64   // characters of STRING and PATH
	MaxLength   *int64
	Min         *string // of INT and FLOAT
	Max         *string
	ObjectType  string // of PATH: FILE, DIRECTORY or "" for the default
	DataFlow    string // of PATH: NONE, IN, OUT, INOUT or ""
	Control     UserInterface
	place       Format
}

// UserInterface are the hints for a form.
type UserInterface struct {
	Control    string // "" for the default
	Label      string
	GroupLabel string
	Patterns   []string // of the filters of a file dialog, such as *.blend; none: all files
}

// normal is a value as it is kept: an INT in decimal, a FLOAT as it is written.
func (p *Parameter) normal(s string) (string, error) {
	switch p.Type {
	case Int:
		n, err := parseInt(s)
		return fmt.Sprint(n), err
	case Float:
		_, err := parseFloat(s)
		return strings.TrimSpace(s), err
	}
	if n := utf8.RuneCountInString(s); n > maxParameterText {
		return s, fmt.Errorf("has %d characters, and at most %d are allowed", n, maxParameterText)
	}
	return s, nil
}

// compare orders two values of an INT or a FLOAT that are normal.
func (p *Parameter) compare(a, b string) int {
	if p.Type == Int {
		x, _ := parseInt(a)
		y, _ := parseInt(b)
		return order(x, y)
	}
	x, _ := parseFloat(a)
	y, _ := parseFloat(b)
	return order(x, y)
}

func order[T int64 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// check is what a normal value does not satisfy of the limits; allowed values are one of them if asked for.
func (p *Parameter) check(v string, allowed bool) error {
	if p.Type == String || p.Type == Path {
		n := int64(utf8.RuneCountInString(v))
		switch {
		case p.MinLength != nil && n < *p.MinLength:
			return fmt.Errorf("%s has %d characters, and minLength is %d", quote(v), n, *p.MinLength)
		case p.MaxLength != nil && n > *p.MaxLength:
			return fmt.Errorf("%s has %d characters, and maxLength is %d", quote(v), n, *p.MaxLength)
		}
	}
	switch {
	case p.Min != nil && p.compare(v, *p.Min) < 0:
		return fmt.Errorf("%s is less than minValue, %s", v, *p.Min)
	case p.Max != nil && p.compare(v, *p.Max) > 0:
		return fmt.Errorf("%s is more than maxValue, %s", v, *p.Max)
	case allowed && p.Allowed != nil && !p.allows(v):
		return fmt.Errorf("%s is not one of allowedValues: %s", quote(v), shortList(p.Allowed))
	}
	return nil
}

func (p *Parameter) allows(v string) bool {
	return slices.ContainsFunc(p.Allowed, func(a string) bool {
		if p.Type == Int || p.Type == Float {
			return p.compare(a, v) == 0
		}
		return a == v
	})
}

// shortList shows the first words of a list.
func shortList(words []string) string {
	const most = 10
	var shown []string
	for _, w := range words[:min(len(words), most)] {
		shown = append(shown, shorten(w))
	}
	if len(words) > most {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// consistent is what a definition contradicts itself in.
func (p *Parameter) consistent() (reasons []string) {
	switch {
	case p.MinLength != nil && p.MaxLength != nil && *p.MinLength > *p.MaxLength:
		reasons = append(reasons, fmt.Sprintf("minLength, %d, is more than maxLength, %d", *p.MinLength, *p.MaxLength))
	case p.Min != nil && p.Max != nil && p.compare(*p.Min, *p.Max) > 0:
		reasons = append(reasons, fmt.Sprintf("minValue, %s, is more than maxValue, %s", *p.Min, *p.Max))
	}
	if p.Default != nil {
		if err := p.check(*p.Default, true); err != nil {
			reasons = append(reasons, "default: "+err.Error())
		}
	}
	return reasons
}

// parameterDefinitions reads the parameters of a template.
func (r *reader) parameterDefinitions(o *object, most int) []*Parameter {
	r.parameters = map[string]*Parameter{}
	v, path := o.child("parameterDefinitions")
	if v == nil {
		return nil
	}
	var out []*Parameter
	for i, item := range r.list(v, path, 1, most) {
		p := parameterReader{r}.parameter(item, index(path, i))
		if p == nil {
			continue
		}
		if r.parameters[p.Name] != nil {
			r.complain(item, join(index(path, i), "name"), "%s is defined twice", p.Name)
		}
		r.parameters[p.Name] = p
		out = append(out, p)
	}
	return out
}

// A parameterReader reads definitions of parameters.
type parameterReader struct{ *reader }

// valueProperties are the properties of each type besides those of all.
var valueProperties = map[Type][]string{
	String: {"minLength", "maxLength"},
	Path:   {"minLength", "maxLength", "objectType", "dataFlow"},
	Int:    {"minValue", "maxValue"},
	Float:  {"minValue", "maxValue"},
}

// exprTypes are the types of parameters that need EXPR.
var exprTypes = []string{"BOOL", "RANGE_EXPR", "LIST[STRING]", "LIST[PATH]", "LIST[INT]", "LIST[FLOAT]", "LIST[BOOL]", "LIST[LIST[INT]]"}

func (r parameterReader) parameter(v *value, path string) *Parameter {
	p := &Parameter{place: Format{path: path, line: v.line, column: v.column}}
	if v.kind == mapping {
		kindOf := v.get("type")
		switch {
		case kindOf != nil && slices.Contains(exprTypes, kindOf.text):
			r.complain(kindOf, join(path, "type"), "the type %s needs the extension EXPR, which is not supported", kindOf.text)
			return nil
		case kindOf != nil && kindOf.kind == text && valueProperties[Type(kindOf.text)] != nil:
			p.Type = Type(kindOf.text)
		case kindOf != nil:
			r.choice(kindOf, join(path, "type"), string(String), string(Path), string(Int), string(Float))
			return nil
		}
	}
	names := []string{"name", "type", "description", "default", "allowedValues", "userInterface"}
	o := r.object(v, path, append(names, valueProperties[p.Type]...)...)
	if o == nil {
		return nil
	}
	if name, at := o.need("name"); name != nil {
		p.Name = r.identifier(name, at)
	}
	o.need("type")
	if p.Type == "" {
		return nil
	}
	p.Description = o.description()
	r.limits(o, p)
	r.parameterValues(o, p)
	for _, reason := range p.consistent() {
		r.complain(v, path, "%s", reason)
	}
	r.userInterface(o, p)
	return p
}

// limits reads what a value must satisfy, besides allowedValues.
func (r parameterReader) limits(o *object, p *Parameter) {
	if p.Type == String || p.Type == Path {
		p.MinLength = r.length(o, "minLength", 0)
		p.MaxLength = r.length(o, "maxLength", 1)
	} else {
		p.Min = r.parameterValue(o, "minValue", p)
		p.Max = r.parameterValue(o, "maxValue", p)
	}
	if v, path := o.child("objectType"); v != nil && p.Type == Path {
		p.ObjectType = r.choice(v, path, "FILE", "DIRECTORY")
	}
	if v, path := o.child("dataFlow"); v != nil && p.Type == Path {
		p.DataFlow = r.choice(v, path, "NONE", "IN", "OUT", "INOUT")
	}
}

func (r parameterReader) length(o *object, name string, least int64) *int64 {
	v, path := o.child(name)
	if v == nil {
		return nil
	}
	if v.kind != integer {
		r.complain(v, path, "is %s; write an integer", v.kind)
		return nil
	}
	n, err := parseInt(v.text)
	switch {
	case err != nil:
		r.complain(v, path, "%v", err)
		return nil
	case n < least:
		r.complain(v, path, "is %d; write an integer from %d", n, least)
		return nil
	}
	return &n
}

// parameterValues reads the default and the allowed values.
func (r parameterReader) parameterValues(o *object, p *Parameter) {
	p.Default = r.parameterValue(o, "default", p)
	v, path := o.child("allowedValues")
	if v == nil {
		return
	}
	p.Allowed = []string{}
	for i, item := range r.list(v, path, 1, 0) {
		at := index(path, i)
		s, ok := r.valueOf(item, at, p)
		if !ok {
			continue
		}
		if err := p.check(s, false); err != nil {
			r.complain(item, at, "%v", err)
		}
		p.Allowed = append(p.Allowed, s)
	}
}

func (r parameterReader) parameterValue(o *object, name string, p *Parameter) *string {
	v, path := o.child(name)
	if v == nil {
		return nil
	}
	s, ok := r.valueOf(v, path, p)
	if !ok {
		return nil
	}
	return &s
}

// valueOf reads one value of a parameter's type. Numbers may be given as strings.
func (r parameterReader) valueOf(v *value, path string, p *Parameter) (string, bool) {
	var ok bool
	var want string
	switch p.Type {
	case Int:
		ok = v.kind == integer || v.kind == text
		want = "an integer"
	case Float:
		ok = v.kind == integer || v.kind == float || v.kind == text
		want = "a number"
	default:
		ok = v.kind == text
		want = "a string"
	}
	if !ok {
		r.complain(v, path, "is %s; write %s", v.kind, want)
		return "", false
	}
	s, err := p.normal(v.text)
	if err != nil {
		r.complain(v, path, "%v", err)
		return "", false
	}
	return s, true
}
