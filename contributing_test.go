package qb

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// skippedByShort are packages that can start Postgres; their tests that do are left out by -short.
var skippedByShort = []string{"qb/cmd/qb", "qb/cmd/qb/service"}

// TestQuick: `make quick` leaves out just the packages whose tests start Postgres.
func TestQuick(t *testing.T) {
	text, err := os.ReadFile("tools/test")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^needs_postgres='(.+)'$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("tools/test has no needs_postgres")
	}
	leftOut := regexp.MustCompile("^" + string(found[1]) + "$")
	list, err := exec.Command("go", "list", "-test", "-deps", "-f", `{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) > 0 && slices.ContainsFunc(words[1:], func(d string) bool { return strings.HasPrefix(d, "qb/supervisor/store/pgcluster") }) {
			starts[words[0]] = true
		}
	}
	all, err := exec.Command("go", "list", "./...").Output()
	if err != nil || len(starts) == 0 {
		t.Fatal(err, len(starts))
	}
	for _, pkg := range strings.Fields(string(all)) {
		if slices.Contains(skippedByShort, pkg) {
			continue
		}
		if starts[pkg] != leftOut.MatchString(pkg) {
			t.Errorf("%s: its tests start Postgres: %v; needs_postgres has it: %v", pkg, starts[pkg], !starts[pkg])
		}
	}
}
