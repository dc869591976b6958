package qb_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTests: tests that documents and the table of attacks name are there.
func TestNamedTests(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				known[f.Name.Name] = true
			}
		}
	}
	browser, err := filepath.Glob("tools/*/*_test.go") // of another module, which the tree of this one leaves out
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, name := range browser {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range function.FindAllStringSubmatch(string(text), -1) {
			known[f[1]] = true
		}
	}
	inText := regexp.MustCompile("`(Test[A-Z]\\w+)`")
	inTable := regexp.MustCompile(`[| ](Test[A-Z]\w+)`)
	places := map[string]*regexp.Regexp{"tools/attack": inTable}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			places[name] = inText
		}
	}
	found := 0
	for name, form := range places {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range form.FindAllStringSubmatch(string(text), -1) {
			found++
			if !known[named[1]] && named[1] != "TestAttack" { // which begins the names of many
				line := strings.Count(string(text[:strings.Index(string(text), named[0])]), "\n") + 1
				t.Errorf("%s:%d names %s, and there is no such test", name, line, named[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d tests are named", found)
	}
}
