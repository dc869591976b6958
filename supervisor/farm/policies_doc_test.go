package farm_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/policies.md lists the dialogues of several policies, each with the words that it begins with, and the rules of
// TestAllPoliciesAtOnce, as its comment has them.
func TestPoliciesPage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../../docs/policies.md")
	names, err := filepath.Glob("testdata/policies_*.txt")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d dialogues, %v", len(names), err)
	}
	for _, name := range names {
		lines := strings.SplitN(read(name), "\n", 3)
		want := "(../supervisor/farm/" + name + ").**\n" + strings.TrimPrefix(lines[0], "# ") + "\n" + strings.TrimPrefix(lines[1], "# ") + "\n"
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks\n%s", want)
		}
	}
	if n := strings.Count(page, "testdata/policies_"); n != len(names) {
		t.Errorf("the page links %d dialogues of %d", n, len(names))
	}
	rules := regexp.MustCompile(`(?m)^//  ([0-9]+\. .*(?:\n//     .*)*)`).FindAllStringSubmatch(read("policies_random_test.go"), -1)
	for _, rule := range rules {
		words := strings.Join(strings.Fields(strings.ReplaceAll(rule[1], "//", "")), " ")
		if at := strings.LastIndex(words, " ("); at >= 0 { // what checks it
			words = words[:at] + "."
		}
		if !strings.Contains(page, "\n"+words+"\n") {
			t.Errorf("the page lacks the rule %s", words)
		}
	}
	if len(rules) < 13 {
		t.Errorf("the comment of the test has %d rules", len(rules))
	}
}
