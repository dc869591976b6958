package patterns

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Expression finds text in lines, also in the ones that come in parts.
type Expression struct {
	first *regexp.Regexp
	tree  string         // the same, as literal text
	later *regexp.Regexp // for later parts of a line: behind something; nil until there is one
}

// Compile reads one expression that is by itself.
func Compile(text string) (*Expression, error) {
	e, _, err := compile(text)
	return e, err
}

// compile says how many instructions an expression has, too.
func compile(text string) (e *Expression, size int, err error) {
	if len(text) > MaxLength {
		return nil, 0, fmt.Errorf("an expression of %d bytes; at most %d", len(text), MaxLength)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	whole := tree.String()
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	if size = len(program.Inst); size > MaxProgram {
		return nil, size, fmt.Errorf("%q compiles to %d instructions; at most %d; write smaller repeats", text, size,
			MaxProgram)
	}
	e = &Expression{tree: whole}
	if e.first, err = regexp.Compile(text); err != nil {
		return nil, 0, fmt.Errorf("%w (RE2, without look-around and back-references)", err)
	}
	return e, size, nil
}

// Find is the first match in a line and its groups, and at which byte it begins; -1: there is none. The begin of a
// later part is not the begin of a line, and a match in the second half of a part is left to the next part, where all
// that follows it is seen.
func (e *Expression) Find(line Piece) (groups [][]byte, at int) {
	re, skip := e.first, 0
	if line.Later {
		if e.later == nil {
			e.later = regexp.MustCompile(`(?s:.)(?:` + e.tree + `)`)
		}
		re = e.later
	}
	found := re.FindSubmatchIndex(line.Text)
	if found == nil {
		return nil, -1
	}
	if line.Later {
		_, skip = utf8.DecodeRune(line.Text[found[0]:])
	}
	found[0] += skip
	if line.More && found[0] >= line.limit() {
		return nil, -1
	}
	for n := 0; n < len(found); n += 2 {
		if found[n] < 0 {
			groups = append(groups, nil)
			continue
		}
		groups = append(groups, line.Text[found[n]:found[n+1]])
	}
	return groups, found[0]
}
