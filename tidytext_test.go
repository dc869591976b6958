package qb_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// Codes decide, text explains: nothing looks into a sentence that tells a person why something is so.

// sentences are the names of such texts, in Go and in SQL.
var sentences = []string{"cause", "reason", "message"}

// lookers are the functions of package strings that look into a text.
var lookers = []string{"HasPrefix", "HasSuffix", "Contains", "ContainsAny", "Cut", "CutPrefix", "CutSuffix", "TrimPrefix", "TrimSuffix",
	"Index", "LastIndex", "Split", "SplitN", "SplitAfter", "SplitSeq", "Fields", "FieldsSeq", "Lines", "EqualFold", "Count"}

// sqlLooks finds the same in SQL.
var sqlLooks = regexp.MustCompile(`(?is)\b(cause|reason|message)\s+(not\s+)?(i?like|similar\s+to|!?~)|` +
	`\b(starts_with|strpos|position|substring|substr|split_part|left|right|regexp_\w+)\s*\([^()]*\b(cause|reason|message)\b|` +
	`\b(cause|message)\s*(=|<>)\s*'[^']`)

func TestSentencesDecideNothing(t *testing.T) {
	check(t, decidingSentences)
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 1 {
		t.Fatalf("found %d migrations: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := sqlLooks.FindString(string(text)); found != "" {
			t.Errorf("%s: %q looks into a sentence; use the code", name, found)
		}
	}
}

func decidingSentences(s source) (bad []string) {
	if s.test {
		return nil
	}
	for _, decl := range s.file.Decls {
		bad = append(bad, decidesByText(decl)...)
	}
	return bad
}

func decidesByText(decl ast.Decl) (bad []string) {
	texts := errorTexts(decl)
	tells := func(e ast.Expr) bool { return tells(e, texts) }
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			of, ok := n.Fun.(*ast.SelectorExpr)
			looks := ok && (isName(of.X, "strings") && slices.Contains(lookers, of.Sel.Name) ||
				isName(of.X, "fmt") && strings.HasPrefix(of.Sel.Name, "Sscan"))
			if looks && len(n.Args) > 0 && tells(n.Args[0]) {
				bad = append(bad, at(n.Pos())+": "+of.Sel.Name+" looks into a sentence; use the code")
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (tells(n.X) && isText(n.Y) || tells(n.Y) && isText(n.X)) {
				bad = append(bad, at(n.Pos())+": a sentence is compared with a text; use the code")
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && sqlLooks.MatchString(n.Value) {
				bad = append(bad, at(n.Pos())+": SQL looks into a sentence; use the code")
			}
		}
		return true
	})
	return bad
}

// errorTexts are the variables of a declaration that hold the text of an error.
func errorTexts(decl ast.Decl) (names []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, right := range a.Rhs {
				if left, ok := a.Lhs[i].(*ast.Ident); ok && isErrorText(right) {
					names = append(names, left.Name)
				}
			}
		}
		return true
	})
	return names
}

// isErrorText is whether an expression is err.Error(), or such a text put through other functions.
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Error" && len(call.Args) == 0 || slices.ContainsFunc(call.Args, isErrorText)
}

// tells is whether an expression has the name of a sentence, or is the text of an error.
func tells(e ast.Expr, texts []string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return slices.Contains(sentences, strings.ToLower(e.Name)) || slices.Contains(texts, e.Name)
	case *ast.SelectorExpr:
		return slices.Contains(sentences, strings.ToLower(e.Sel.Name))
	case *ast.ParenExpr:
		return tells(e.X, texts)
	case *ast.BinaryExpr:
		return tells(e.X, texts) || tells(e.Y, texts)
	case *ast.CallExpr: // a conversion, or strings.ToLower(cause)
		return isErrorText(e) || slices.ContainsFunc(e.Args, func(arg ast.Expr) bool { return tells(arg, texts) })
	}
	return false
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isText is whether an expression is a text that is not empty.
func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && text != ""
}

// TestTextRuleBites shows the rule what it must refuse, and what it must let pass.
func TestTextRuleBites(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{`if strings.HasPrefix(a.Cause, "killed") {}`, 1},
		{`text, _, _ := strings.Cut(string(r.reason), ": "); _ = text`, 1},
		{`if strings.Contains(strings.ToLower(message), "disk") {}`, 1},
		{`out := strings.TrimPrefix(e.Cause+" (by "+e.By+")", " "); _ = out`, 1},
		{`if end.Cause == "killed by u1" {}`, 1},
		{"const sql = `SELECT 1 FROM attempt WHERE cause LIKE 'memory: %'`", 1},
		{"const sql = `SELECT 1 FROM attempt WHERE a.reason NOT ILIKE '%lease%'`", 1},
		{"const sql = `SELECT 1 FROM attempt WHERE starts_with(a.cause, 'killed')`", 1},
		{"const sql = `SELECT 1 FROM attempt WHERE cause = 'killed by u1'`", 1},
		{`if strings.Contains(err.Error(), "timeout") {}`, 1},
		{`text := err.Error(); if strings.HasPrefix(text, "write ") {}`, 1},
		{`if err.Error() == "EOF" {}`, 1},
		{`text := strings.TrimPrefix(err.Error(), "toml: "); fmt.Sscanf(text, "line %d", &line)`, 2},
		{`why := err.Error(); log.Info("failed", "why", why)`, 0},
		{`if a.Reason == ReasonKilled && a.Cause != "" && strings.HasPrefix(name, "host.") {}`, 0},
		{"const sql = `SELECT 1 FROM attempt WHERE reason = 'killed' AND cause <> '' AND type LIKE 'job-%'`", 0},
	} {
		s, err := parse("supervisor/serve/a.go", "package supervisor\nimport \"strings\"\nfunc f() {"+c.body+"}")
		if err != nil {
			t.Fatal(err)
		}
		if got := decidingSentences(s); len(got) != c.want {
			t.Errorf("%s: %d violations, want %d: %q", c.body, len(got), c.want, got)
		}
	}
}

// Comments are in plain English, and lines are short enough to read two files side by side. Older code breaks both rules:
// the lists below have the number of such lines in each room, which may only fall.

// idioms are words of a private style that comments avoid: they replace the subject, or the standard term.
var idioms = regexp.MustCompile(`(?i)\b(nobody|stands|stood|told|anew|likewise|those that|those who|one that|be it|be they|` +
	`who is|whoever|but for|but that)\b`)

const (
	maxColumns = 120
	fewer      = 10 // a room that has become so much better gets a lower number
)

// roomIdioms counts, for each room, the comment lines with an idiom.
var roomIdioms = map[string]int{
	"cmd":    1,
	"farm":   2,
	"share":  1,
	"sim":    1,
	"store":  1,
	"worker": 2,
}

func TestPlainWords(t *testing.T) {
	shrinks(t, "comment lines with a private idiom, such as nobody, told or those that", roomIdioms, idiomLines)
}

func TestLineLengths(t *testing.T) {
	shrinks(t, "lines of product code over 120 columns outside of string literals", nil, longLines)
}

// shrinks compares the number of lines that a rule finds in each room with a list of numbers that may only get smaller.
func shrinks(t *testing.T, what string, most map[string]int, rule func(source) []string) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for name := range most {
		found[name] = nil
	}
	for _, s := range all {
		name := roomOf(s.pkg)
		found[name] = append(found[name], rule(s)...)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch lines := found[name]; {
		case len(lines) > most[name]:
			t.Errorf("%s has %d %s, more than %d; rewrite the new ones:\n%s", name, len(lines), what, most[name],
				strings.Join(lines, "\n"))
		case len(lines) <= most[name]-fewer:
			t.Errorf("%s has only %d %s, no longer %d: lower its number", name, len(lines), what, most[name])
		}
	}
}

// idiomLines returns the comment lines of a file that have an idiom.
func idiomLines(s source) (bad []string) {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			for n, line := range strings.Split(c.Text, "\n") {
				if !strings.HasPrefix(line, "//go:") && idioms.MatchString(line) {
					p := fset.Position(c.Pos())
					bad = append(bad, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line+n, strings.TrimSpace(line)))
				}
			}
		}
	}
	return bad
}

// longLines returns the lines of a product file that have more than maxColumns columns, a tab counted as one, unless a
// string literal reaches the last column: such a text is not divided.
func longLines(s source) (bad []string) {
	if s.test {
		return nil
	}
	inText := map[int]bool{} // lines with a string literal up to the last column or over it
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		first, last := fset.Position(lit.Pos()), fset.Position(lit.End())
		for line := first.Line; line <= last.Line; line++ {
			begins := line > first.Line || columns(s.text, line, first.Column-1) < maxColumns
			ends := line < last.Line || columns(s.text, line, last.Column-1) > maxColumns-3 // a comma or bracket may follow
			inText[line] = inText[line] || begins && ends
		}
		return true
	})
	for n, line := range s.text {
		if columns(s.text, n+1, len(line)) > maxColumns && !inText[n+1] {
			bad = append(bad, fmt.Sprintf("%s:%d: %s", s.name, n+1, strings.TrimSpace(line)))
		}
	}
	return bad
}

// columns counts the columns that the first bytes of a line take.
func columns(text []string, line, bytes int) int {
	return utf8.RuneCountInString(text[line-1][:bytes])
}

// TestTextCounts shows the two rules what they must count, and what they must not.
func TestTextCounts(t *testing.T) {
	long := strings.Repeat("x", maxColumns)
	for _, c := range []struct {
		rule func(source) []string
		text string
		want int
	}{
		{idiomLines, "package x\n\n// F tells nobody of those that wait.\n// It is told once.\nvar n int // likewise\n", 3},
		{idiomLines, "package x\n\n// F returns the waiting jobs, understood as a list.\nvar nobody = \"told\"\n", 0},
		{longLines, "package x\n\nvar a, b = f(1), \"" + long + "\"\n", 0},
		{longLines, "package x\n\nvar a = `\n" + long + long + "\n`\n", 0},
		{longLines, "package x\n\nvar a = f(\"short\", " + long + ")\n", 1},
		{longLines, "package x\n\n// " + long + "\nvar a int\n", 1},
		{longLines, "package x\n\n\tvar a = " + strings.Repeat("長", maxColumns-9) + "\n", 0},
	} {
		s, err := parse("supervisor/serve/a.go", c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.rule(s); len(got) != c.want {
			t.Errorf("%s: %d lines, want %d: %q", c.text, len(got), c.want, got)
		}
	}
}
