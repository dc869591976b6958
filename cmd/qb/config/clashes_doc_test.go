package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table of docs/policies.md is that of the rules.
func TestClashesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, rule := range clashes() {
		beside := ""
		if len(rule.keys) > 1 {
			beside = "`" + rule.keys[1] + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", rule.keys[0], beside, rule.happens, rule.wayOut)
	}
	_, table, _ := strings.Cut(string(page), "| --- | --- | --- | --- |\n")
	if table != want.String() {
		t.Errorf("docs/policies.md ends with another table than\n%s", want.String())
	}
}
