package qb_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// longText is a text on a line of its own, which the formatter leaves whole.
var longText = regexp.MustCompile("[\"`][^\"`]{60,}")

// TestPageColumns: the page's scripts have narrow lines. The formatter (tools/lint-page) sees to code, not to templates.
func TestPageColumns(t *testing.T) {
	files, err := filepath.Glob("supervisor/page/web/static/*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if columns := utf8.RuneCountInString(line); columns > maxColumns && !longText.MatchString(line) {
				t.Errorf("%s:%d: %d columns, more than %d", name, n+1, columns, maxColumns)
			}
		}
	}
}
