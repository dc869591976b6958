package openjd

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// An object is a mapping whose properties are known.
type object struct {
	r    *reader
	v    *value
	path string
}

// refused are properties of extensions that are not supported.
var refused = map[string]string{
	"let": "EXPR", "onWrapEnvEnter": "WRAP_ACTIONS", "onWrapTaskRun": "WRAP_ACTIONS", "onWrapEnvExit": "WRAP_ACTIONS",
	"services": "SERVICE", "requiresServices": "SERVICE",
}

// object checks that a value is a mapping with no other than the named properties. A name may be followed by @ and
// the extension that it needs. It is nil if the value is not a mapping.
func (r *reader) object(v *value, path string, names ...string) *object {
	if v.kind != mapping {
		r.complain(v, path, "is %s; write a mapping with %s", v.kind, propertyList(names))
		return nil
	}
	for _, m := range v.members {
		at := &value{line: m.line, column: m.col}
		i := slices.IndexFunc(names, func(n string) bool { return propertyName(n) == m.key })
		switch {
		case i < 0 && refused[m.key] != "":
			r.complain(at, join(path, m.key), "needs the extension %s, which is not supported", refused[m.key])
		case i < 0:
			r.complain(at, join(path, m.key), "is not a property here; there are %s", propertyList(names))
		case strings.Contains(names[i], "@") && !r.has(names[i][len(m.key)+1:]):
			r.complain(at, join(path, m.key), "needs the extension %s; name it in extensions", names[i][len(m.key)+1:])
		case m.value.kind == null && m.key == "description":
			// submitters write descriptions that a dialog fills in
		case m.value.kind == null:
			r.complain(at, join(path, m.key), "is null; give it a value, or leave the property out")
		}
	}
	return &object{r, v, path}
}

func propertyName(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

func propertyList(names []string) string {
	plain := make([]string, len(names))
	for i, n := range names {
		plain[i] = propertyName(n)
	}
	return strings.Join(plain, ", ")
}

// child is a property, nil if it is absent or null.
func (o *object) child(name string) (*value, string) {
	v := o.v.get(name)
	if v != nil && v.kind == null {
		v = nil
	}
	return v, join(o.path, name)
}

// need is a property that must be there.
func (o *object) need(name string) (*value, string) {
	v, path := o.child(name)
	if v == nil && o.v.get(name) == nil {
		o.r.complain(o.v, path, "is missing")
	}
	return v, path
}

// description is the optional description of most objects (7.2).
func (o *object) description() string {
	v, path := o.child("description")
	if v == nil {
		return ""
	}
	return o.r.string(v, path, 1, 2048, textControl)
}

// control says which control characters, those of the category Cc, a string may have.
type control int

const (
	anyControl  control = iota
	textControl         // carriage return, newline and tab
	lineControl         // carriage return and newline
	noControl
)

func (c control) allows(r rune) bool {
	switch {
	case r >= 0x20 && r < 0x7f || r >= 0xa0 || c == anyControl:
		return true
	case r == '\r' || r == '\n':
		return c == textControl || c == lineControl
	}
	return r == '\t' && c == textControl
}

// string reads a string of so many characters; most 0 is no limit.
func (r *reader) string(v *value, path string, least, most int, c control) string {
	if v.kind != text {
		r.complain(v, path, "is %s; write a string", v.kind)
		return ""
	}
	r.checkText(v, path, v.text, least, most, c)
	return v.text
}

func (r *reader) checkText(v *value, path, s string, least, most int, c control) {
	switch n := utf8.RuneCountInString(s); {
	case n < least && n == 0:
		r.complain(v, path, "is empty")
	case n < least:
		r.complain(v, path, "has %d characters, and at least %d are needed", n, least)
	case most > 0 && n > most:
		r.complain(v, path, "has %d characters, and at most %d are allowed", n, most)
	}
	for _, char := range s {
		if !c.allows(char) {
			r.complain(v, path, "%s has the control character %q, which is not allowed here", quote(s), char)
			return
		}
	}
}

// identifier reads a name (7.1).
func (r *reader) identifier(v *value, path string) string {
	most := r.limit(64, 512)
	s := r.string(v, path, 1, most, anyControl)
	if s != "" && !isIdentifier(s) {
		r.complain(v, path, "%s is not a name: letters of ASCII, digits and _, not a digit first", quote(s))
	}
	return s
}

// list reads a list of so many items; most 0 is no limit.
func (r *reader) list(v *value, path string, least, most int) []*value {
	switch {
	case v.kind != list:
		r.complain(v, path, "is %s; write a list", v.kind)
		return nil
	case len(v.items) < least:
		r.complain(v, path, "is an empty list; give it an item, or leave the property out")
	case most > 0 && len(v.items) > most:
		r.complain(v, path, "has %d items, and at most %d are allowed", len(v.items), most)
		return nil
	}
	return v.items
}

// choice reads one of several words.
func (r *reader) choice(v *value, path string, words ...string) string {
	if v.kind != text || !slices.Contains(words, v.text) {
		shown := v.kind.String()
		if v.kind == text {
			shown = quote(v.text)
		}
		r.complain(v, path, "is %s; write %s", shown, strings.Join(words, " or "))
		return ""
	}
	return v.text
}

// boolean reads true or false.
func (r *reader) boolean(v *value, path string) bool {
	if v.kind != boolean {
		r.complain(v, path, "is %s; write true or false", v.kind)
		return false
	}
	return strings.EqualFold(v.text, "true")
}

// A formatRule is what the text of a format string must satisfy.
type formatRule struct {
	least   int // characters as written
	most    int // characters once it is resolved; 0: no limit
	control control
}

// format reads a format string. A number is taken as its text.
func (r *reader) format(v *value, path string, rule formatRule, s scope) Format {
	f := Format{Text: v.text, path: path, line: v.line, column: v.column}
	if v.kind != text && v.kind != integer && v.kind != float {
		r.complain(v, path, "is %s; write a string", v.kind)
		return f
	}
	parts, err := parseFormat(v.text)
	if err != nil {
		r.complain(v, path, "%v", err)
		return f
	}
	f.parts = parts
	r.checkText(v, path, v.text, rule.least, 0, rule.control)
	if n := f.least(); rule.most > 0 && n > rule.most {
		r.complain(v, path, "has at least %d characters once it is resolved, and at most %d are allowed", n, rule.most)
	}
	r.checkReferences(f, s)
	return f
}

// formats reads a list of format strings.
func (r *reader) formats(v *value, path string, most int, rule formatRule, s scope) []Format {
	var out []Format
	for i, item := range r.list(v, path, 1, most) {
		out = append(out, r.format(item, index(path, i), rule, s))
	}
	return out
}

// count reads an integer. Text, which may be a format string, needs an extension.
func (r *reader) count(v *value, path string, least, most int64, extension string, s scope) Count {
	c := Count{Set: true, least: least, most: most}
	switch {
	case v.kind == text && !r.has(extension):
		r.complain(v, path, "is a string; write an integer, or name the extension %s in extensions", extension)
		return c
	case v.kind != text && v.kind != integer:
		r.complain(v, path, "is %s; write an integer", v.kind)
		return c
	}
	c.format = r.format(v, path, formatRule{least: 1}, s)
	if !c.format.Literal() || len(c.format.parts) == 0 {
		return c
	}
	n, err := c.parse(v.text)
	if err != nil {
		r.complain(v, path, "%v", err)
	}
	c.N = n
	return c
}
