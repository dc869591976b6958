package agenda

import (
	"regexp"
	"slices"
	"strings"

	"qb/internal/units"
)

// Filter is a condition on what a list shows, such as
//
//	priority <= 100 and (status = failed or status = killed) and name = comp*
//
// It has the grammar of a Requirement, but properties are named as they are, and a text that a property is compared
// with by = or != may be a pattern: one with a * or % matches any letters there (and where it begins with one of the
// two, any single letter at a _), a text that begins with ~ is a regular expression of RE2, which takes time linear in
// the text. `name in "50%"` compares literally. A Filter does not change and may be used by many goroutines.
type Filter struct {
	whole expression
	used  []string
}

// ParseFilter reads a filter; known are the properties that it may use. A blank text lets everything pass. An error is
// a *SyntaxError.
func ParseFilter(text string, known []Property) (*Filter, error) {
	whole, err := parseText(filterText, text, known)
	if err != nil {
		return nil, err
	}
	f := &Filter{whole: whole}
	whole.properties(func(name string) { f.used = append(f.used, name) })
	return f, nil
}

// Passes says whether what is behind lookup is to be listed.
func (f *Filter) Passes(lookup Lookup) bool { return f.whole.holds(lookup) }

// Uses says whether the filter asks for a property.
func (f *Filter) Uses(name string) bool { return slices.Contains(f.used, name) }

// pattern is what a text matches, nil if it is to be compared literally.
func (p *parser) pattern(t token) (func(string) bool, *SyntaxError) {
	if p.language != filterText {
		return nil, nil
	}
	source, isRegexp := strings.CutPrefix(t.text, "~")
	if !isRegexp {
		if !strings.ContainsAny(t.text, "*%") {
			return nil, nil
		}
		source = wildcards(t.text)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, p.fail(t, "%s is no regular expression (%s); the syntax is that of RE2", units.Quoted(t.text), err)
	}
	return compiled.MatchString, nil
}

// wildcards is the regular expression of a text with wildcards.
func wildcards(text string) string {
	single := strings.HasPrefix(text, "*") || strings.HasPrefix(text, "%")
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for _, r := range text {
		switch {
		case r == '*' || r == '%':
			b.WriteString(`.*`)
		case r == '_' && single:
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String() + `$`
}
