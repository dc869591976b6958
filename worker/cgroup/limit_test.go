package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestLimitOfAServiceIsFelt: the limits of the groups above count too, and the one that leaves least.
func TestLimitOfAServiceIsFelt(t *testing.T) {
	t.Parallel()
	for _, g := range memoryGroups() {
		service := memoryGroup{g.kind, filepath.Join(g.folder, fmt.Sprintf("qb-felt-%d", os.Getpid())), g.limit}
		if os.Mkdir(service.folder, 0o755) != nil {
			continue
		}
		defer os.Remove(service.folder)
		if (Group{g.kind, service.folder}).write(g.limit, "104857600") != nil {
			continue // nothing counts memory there
		}
		below := service
		below.folder = filepath.Join(service.folder, "agent")
		if err := os.Mkdir(below.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(below.folder)
		if limit, left, ok := leastLeft([]memoryGroup{below}); !ok || limit != 100<<20 || left > limit || left < limit/2 {
			t.Errorf("%s: %d left of %d, %v; want 100 MB", below.folder, left, limit, ok)
		}
		if limit, _, _ := leastLeft([]memoryGroup{g}); limit == 100<<20 {
			t.Errorf("%s has the limit of one below it", g.folder)
		}
	}
}
