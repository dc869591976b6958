package api

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

//go:embed openapi.yaml
var document string

// TestDocument: the committed document describes exactly the table, each endpoint with its id and role. That
// it is what the supervisor serves is for the supervisor's own test to say.
func TestDocument(t *testing.T) {
	for _, e := range Endpoints {
		block := operation(e)
		if block == "" {
			t.Errorf("%s %s is not in openapi.yaml; go test ./supervisor/serve -run TestOpenAPI -update writes it anew", e.Method, e.Path)
			continue
		}
		for _, line := range []string{"operationId: " + e.ID + "\n", "x-qb-role: " + string(e.Role) + "\n"} {
			if !strings.Contains(block, line) {
				t.Errorf("%s lacks %q", e.ID, line)
			}
		}
	}
	if got := len(regexp.MustCompile(`(?m)^ +operationId: `).FindAllString(document, -1)); got != len(Endpoints) {
		t.Errorf("the document has %d operations, the table %d", got, len(Endpoints))
	}
}

// operation cuts the part of one endpoint out of the document.
func operation(e Endpoint) string {
	_, path, ok := strings.Cut(document, "\n  "+e.Path+":\n")
	if !ok {
		return ""
	}
	if end := regexp.MustCompile(`(?m)^  ?\S`).FindStringIndex(path); end != nil {
		path = path[:end[0]]
	}
	_, op, ok := strings.Cut("\n"+path, "\n    "+strings.ToLower(e.Method)+":\n")
	if !ok {
		return ""
	}
	if end := regexp.MustCompile(`(?m)^    \S`).FindStringIndex(op); end != nil {
		op = op[:end[0]]
	}
	return op
}

// TestRoles spells out who may what a role needs.
func TestRoles(t *testing.T) {
	all := []Role{Anyone, ReadOnly, User, Operator, Admin, Worker, "", "king"}
	for need, want := range map[Role]string{
		Anyone: "anyone read-only user operator admin worker  king", ReadOnly: "read-only user operator admin", User: "user operator admin",
		Operator: "operator admin", Admin: "admin", Worker: "worker",
	} {
		var got []string
		for _, have := range all {
			if have.Allows(need) {
				got = append(got, string(have))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: allowed are %q, want %q", need, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Endpoints {
		key := e.Method + " " + e.Path
		if seen[e.ID] || seen[key] {
			t.Errorf("%s (%s) stands twice in the table", e.ID, key)
		}
		seen[e.ID], seen[key] = true, true
		if e.Summary == "" || e.Role == "" || !strings.HasPrefix(e.Path, "/") {
			t.Errorf("%+v is not whole", e)
		}
	}
}

// TestKinds: each kind has a status that leads back to it, and an exit code.
func TestKinds(t *testing.T) {
	for kind, exit := range map[Kind]int{
		KindInvalid: 1, KindNotFound: 1, KindConflict: 1, KindStale: 1, KindLimit: 1, KindUnauthorized: 4, KindForbidden: 4, KindUnavailable: 3, KindInternal: 1,
	} {
		if back := KindOfStatus(kind.Status()); back != kind {
			t.Errorf("%s has status %d, which leads to %s", kind, kind.Status(), back)
		}
		if got := ExitCode(fmt.Errorf("doing: %w", Errorf(kind, "x"))); got != exit {
			t.Errorf("%s ends with %d, want %d", kind, got, exit)
		}
	}
	if ExitCode(nil) != 0 || ExitCode(Errorf(KindUsage, "x")) != 2 {
		t.Error("exit codes of success and wrong usage")
	}
}
