package sim

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFaultPoints: the table of faults in docs/reliability.md names points that the simulator counts, and leaves
// none of them out.
func TestFaultPoints(t *testing.T) {
	text, err := os.ReadFile("../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Faults and the points that reach them\n")
	table, _, found := strings.Cut(rest, "\n## ")
	named := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		for _, point := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			if strings.HasPrefix(row, "| ") {
				named[point[1]] = true
			}
		}
	}
	if !found || len(named) < len(simFaultKinds) {
		t.Fatalf("the table names %d points only", len(named))
	}
	for point := range named {
		if !slices.Contains(simSometimes, point) {
			t.Errorf("the table names %q, which the simulator does not count", point)
		}
	}
	for _, point := range simSometimes {
		if !named[point] {
			t.Errorf("the simulator counts %q, and the table does not name it", point)
		}
	}
}
