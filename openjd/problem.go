package openjd

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems bounds how much is reported of one document.
const maxProblems = 100

// A Problem is one thing that is wrong in a template, or in the values of a job's parameters.
type Problem struct {
	Path   string // such as steps[0].script.actions.onRun.command; "" for the whole document
	Line   int    // from 1; 0 if the problem is not in a text
	Column int    // from 1; 0 if unknown
	Reason string
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Reason
}

// Problems are all that is wrong, in the order of the document. It is an error.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err is nil, or the problems in the order of the lines.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(ps) > maxProblems {
		rest := len(ps) - maxProblems
		ps = append(ps[:maxProblems:maxProblems], Problem{Reason: fmt.Sprintf("and %d more problems", rest)})
	}
	return ps
}

// quote shows a text of a template, shortened, in quotes.
func quote(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", text)
}
