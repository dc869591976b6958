package openjd

import (
	"strings"
	"testing"
)

// TestOrdered: each step comes after what it depends on, else in the order of the template.
func TestOrdered(t *testing.T) {
	j := &Job{}
	for _, line := range []string{"e: d b", "a", "b: c", "c: a", "d", "f: e"} {
		name, dependencies, _ := strings.Cut(line, ":")
		j.Steps = append(j.Steps, &Step{Name: name, Dependencies: strings.Fields(dependencies)})
	}
	names := func(steps []*Step) (out string) {
		for _, s := range steps {
			out += s.Name
		}
		return out
	}
	if got := names(j.Ordered()); got != "dacbef" {
		t.Errorf("the order is %s", got)
	}
	if got := names(j.Needed(j.Steps[2])); got != "acb" {
		t.Errorf("b needs %s", got)
	}
}
