package openjd

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxReferences bounds the references of one format string.
const maxReferences = 1000

// A Format is a format string: text with references to values, such as {{Param.Frames}}. It keeps its place in the
// template, for messages about values that are known later.
type Format struct {
	Text   string
	path   string
	line   int
	column int
	parts  []part
}

// A part of a format string is literal text, or the name of a value.
type part struct {
	literal string
	name    string
}

// Literal says that a format string has no references.
func (f Format) Literal() bool {
	return !slices.ContainsFunc(f.parts, func(p part) bool { return p.name != "" })
}

// References are the names of the values that a format string refers to, in its order.
func (f Format) References() []string {
	var names []string
	for _, p := range f.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// Resolve replaces each reference by its value, once: a value that looks like a reference stays as it is.
func (f Format) Resolve(values map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range f.parts {
		b.WriteString(p.literal)
		if p.name == "" {
			continue
		}
		v, known := values[p.name]
		if !known {
			return "", fmt.Errorf("%s: {{%s}} has no value here", f.path, p.name)
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

// least is the length in characters that a format string has at least, whatever its values are.
func (f Format) least() int {
	n := 0
	for _, p := range f.parts {
		n += utf8.RuneCountInString(p.literal)
	}
	return n
}

// problem is a problem at the place of a format string.
func (f Format) problem(reason string, args ...any) Problem {
	return Problem{f.path, f.line, f.column, fmt.Sprintf(reason, args...)}
}

// parseFormat divides a format string into its parts.
func parseFormat(s string) ([]part, error) {
	var parts []part
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		if strings.Contains(before, "}}") {
			return nil, fmt.Errorf("}} without {{ before it")
		}
		if before != "" {
			parts = append(parts, part{literal: before})
		}
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("{{ without }} after it, at %s", quote("{{"+after))
		}
		name = strings.Trim(name, " \t\r\n")
		if err := checkReference(name); err != nil {
			return nil, err
		}
		parts = append(parts, part{name: name})
		if len(parts) > 2*maxReferences {
			return nil, fmt.Errorf("there are more than %d references in one string", maxReferences)
		}
		rest = tail
	}
	return parts, nil
}

// checkReference says whether a text is the dotted name of a value.
func checkReference(name string) error {
	if name == "" {
		return fmt.Errorf("{{ }} is empty; write the name of a value, such as {{Param.Name}}")
	}
	for word := range strings.SplitSeq(name, ".") {
		if !isIdentifier(word) {
			return fmt.Errorf("{{%s}} is not the name of a value, such as {{Param.Name}}; %s", shorten(name), exprRefusal)
		}
	}
	return nil
}

func shorten(s string) string { return strings.Trim(quote(s), `"`) }

// isIdentifier says whether a text is a letter or underscore of ASCII, then more of these and digits.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
