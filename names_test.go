package qb_test

import (
	"go/ast"
	"testing"
)

// namers make errors of a format.
var namers = map[string]bool{"Errorf": true, "Invalid": true, "fail": true, "complaint": true, "Refused": true, "Refuse": true}

// joined are errors that list what the user gave or a few words, and no names of which there may be many: file and what
// is joined.
var joined = map[string]string{
	"cmd/qb/cmd_admin_worker.go":      "options that exclude each other",
	"cmd/qb/watch/source.go":          "what failed, of which a view has few",
	"cmd/qb/config/config.go":         "a line for each mistake in a file",
	"cmd/qb/cmd_lock.go":              "hosts that the user named",
	"cmd/qb/config/preset.go":         "presets, of which there are two",
	"cmd/qb/service/database.go":      "the last five lines of a program",
	"supervisor/wire/lists/fields.go": "the words before a column, whose length counts",
	"worker/settings/calendar.go":     "days of the week",

	"cmd/qb/service/restore.go":            "what pg_restore printed, or the words of a command",
	"examples/demo/strays.go":              "what a check found",
	"sim/netns/machine.go":                 "the words of a command",
	"supervisor/store/postgres/session.go": "settings of Postgres that a pooler took away",
}

// TestErrorsListFewNames: an error that lists names does so by units.Few, so that a mistake is not lost among forty of
// them.
func TestErrorsListFewNames(t *testing.T) {
	seen := 0
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.test {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !namers[called(call)] {
				return true
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					inner, ok := n.(*ast.CallExpr)
					if ok && called(inner) == "Join" && joined[f.name] == "" {
						t.Errorf("%s: an error lists names with strings.Join; use units.Few, or say in joined what it lists", f.name)
					}
					if ok && called(inner) == "Few" {
						seen++
					}
					return true
				})
			}
			return true
		})
	}
	if seen < 5 {
		t.Errorf("only %d errors list names by units.Few", seen)
	}
}

// called is the name of the function that is called, without its package.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}
