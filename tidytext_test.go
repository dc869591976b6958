package qb_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
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
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d migrations: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// Rows from before there were codes are known by their wording; that migration gives them theirs.
		if found := sqlLooks.FindString(string(text)); found != "" && name != "migrations/0018_reasons.sql" {
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
		s, err := parse("supervisor/a.go", "package supervisor\nimport \"strings\"\nfunc f() {"+c.body+"}")
		if err != nil {
			t.Fatal(err)
		}
		if got := decidingSentences(s); len(got) != c.want {
			t.Errorf("%s: %d violations, want %d: %q", c.body, len(got), c.want, got)
		}
	}
}
