package facts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCommasBetweenLinks: each element of a dependency that is read is one link, and means the same wherever it is.
// A bare number or range behind a link on items, which may be of these or a job, is refused with what to write.
func TestCommasBetweenLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	for range 5000 {
		var parts []string
		doubtful, items := false, false
		for range 1 + r.IntN(5) {
			id := 1 + r.IntN(900)
			form := []string{"%d", "link-done-job-%d", "link-complete-work-%d", "link-complete-work-%d:3", "link-done-work-fg%d:1-3", "link-failed-subjob-%d.2"}[r.IntN(6)]
			doubtful = doubtful || items && form == "%d"
			items = strings.Contains(form, ":") || strings.Contains(form, ".")
			parts = append(parts, fmt.Sprintf(form, id))
		}
		links, err := ParseDependency(strings.Join(parts, []string{",", ", "}[r.IntN(2)]))
		if doubtful != (err != nil) {
			t.Fatalf("%s: %v", parts, err)
		}
		for n, part := range parts {
			if err != nil {
				break
			}
			if alone, _ := ParseDependency(part); alone[0] != links[n] {
				t.Fatalf("%s: %s is %+v, alone %+v", parts, part, links[n], alone[0])
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"link-complete-work-58:1,3", "write link-complete-work-58:1,link-complete-work-58:3 for the first, link-complete-job-3 for the second"},
		{"link-done-work-58:1-3,5-7", "link-done-work-58:5-7"}, {"link-done-subjob-9.0, 1", "link-done-subjob-9.0,link-done-subjob-9.1"}, {"link-done-work-fg:1,2", "link-done-work-fg:2"},
		{"12,link-complete-work-58:1,3", "column 28"},
		{"link-done-job-58:1", "write link-done-work-58:1"}, {"link-complete-subjob-58:1-3", "write link-complete-work-58:1-3"},
		{"link-complete-work-58:1:3", "write link-complete-work-58:1"}, {"link-done-job-58:", "write link-done-work-58:7"},
		{"58,,59", "column 4: an entry is empty"}, {"link-complete-work-58:1,", "remove the comma"},
	} {
		if _, err := ParseDependency(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}
