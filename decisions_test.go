package qb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	decisionTitle = regexp.MustCompile(`\A# (\d{4}): (.+)\n`)
	notInAName    = regexp.MustCompile(`[^a-z0-9]+`)
)

// TestDecisions: each decision has the sections that the index asks for and a file named like its title, and the index
// has all of them with their titles.
func TestDecisions(t *testing.T) {
	const folder = "docs/decisions/"
	files, err := filepath.Glob(folder + "[0-9]*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	index, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		title := decisionTitle.FindStringSubmatch(string(text))
		if title == nil {
			t.Errorf("%s: the first line is not \"# NUMBER: TITLE\"", name)
			continue
		}
		words := notInAName.ReplaceAllString(strings.ReplaceAll(strings.ToLower(title[2]), "'s", "s"), "-")
		file := title[1] + "-" + strings.Trim(words, "-") + ".md"
		if filepath.Base(name) != file {
			t.Errorf("%s: by its title its name is %s", name, file)
		}
		fmt.Fprintf(&rows, "| [%s](%s) | %s |\n", title[1], file, title[2])
		for _, section := range []string{"Context", "Decision", "(Drawbacks|Consequences)", "Alternatives"} {
			if !regexp.MustCompile(`(?m)^## ` + section + `$`).Match(text) {
				t.Errorf("%s: no section %s", name, section)
			}
		}
	}
	if !strings.Contains(string(index), rows.String()) {
		t.Errorf("%sREADME.md does not list the decisions by number with their titles; they are\n%s", folder, rows.String())
	}
}
