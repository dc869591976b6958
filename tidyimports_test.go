package qb_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestImportGroups: imports are in groups: the standard library, other modules, qb.
func TestImportGroups(t *testing.T) { check(t, mixedImports) }

// importGroup is the place of an import's group.
func importGroup(path string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case first == "qb":
		return 2
	case strings.Contains(first, "."):
		return 1
	}
	return 0
}

func mixedImports(s source) (bad []string) {
	group, line := -1, 0
	for _, spec := range s.file.Imports {
		next := importGroup(strings.Trim(spec.Path.Value, `"`))
		at := fset.Position(spec.Pos()).Line
		switch {
		case line == 0: // the first one
		case next < group:
			bad = append(bad, fmt.Sprintf("%s:%d: %s is imported below a later group", s.name, at, spec.Path.Value))
		case (next != group) != (at > line+1):
			bad = append(bad, fmt.Sprintf("%s:%d: %s: a blank line between groups of imports, and none within", s.name, at, spec.Path.Value))
		}
		group = next
		line = fset.Position(spec.End()).Line
	}
	return bad
}
