package facts_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReasonsAreDocumented: docs/codes.md lists each reason.
func TestReasonsAreDocumented(t *testing.T) {
	code, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/codes.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "(\w+)"`).FindAllStringSubmatch(string(code), -1)
	if len(found) < 55 {
		t.Fatalf("found only %d reasons", len(found))
	}
	for _, reason := range found {
		if !strings.Contains(string(page), "\n| `"+reason[1]+"` |") {
			t.Errorf("docs/codes.md does not list %s", reason[1])
		}
	}
}
