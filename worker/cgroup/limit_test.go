package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestLimitOfAServiceIsFelt: the limits of the groups above count too, and the limit that leaves least.
func TestLimitOfAServiceIsFelt(t *testing.T) {
	t.Parallel()
	for _, g := range memoryGroups() {
		service := Group{g.Kind, filepath.Join(g.Folder, fmt.Sprintf("qb-felt-%d", os.Getpid()))}
		if os.Mkdir(service.Folder, 0o755) != nil {
			continue
		}
		defer os.Remove(service.Folder)
		if service.write(memoryFiles[g.Kind].limit, "104857600") != nil {
			continue // nothing counts memory there
		}
		below := Group{g.Kind, filepath.Join(service.Folder, "agent")}
		if err := os.Mkdir(below.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(below.Folder)
		if limit, left, ok := leastLeft([]Group{below}); !ok || limit != 100<<20 || left > limit || left < limit/2 {
			t.Errorf("%s: %d left of %d, %v; want 100 MB", below.Folder, left, limit, ok)
		}
		if limit, _, _ := leastLeft([]Group{g}); limit == 100<<20 {
			t.Errorf("%s has the limit of one below it", g.Folder)
		}
	}
}
