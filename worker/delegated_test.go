package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCagesAreMadeInTheGroupThatIsLeftToUs: a service of systemd that is put into a group "agent" below the one
// with the mark of delegation makes its groups in that one, where memory can be counted; without the mark it
// keeps to its own. Its limit is felt in either.
func TestCagesAreMadeInTheGroupThatIsLeftToUs(t *testing.T) {
	t.Parallel()
	if usableCages()[cageV2] == nil {
		t.Log("this host lets no control groups of version 2 be made")
		return
	}
	service := newCage([]string{cageV2}, fmt.Sprintf("service-%d", os.Getpid()))
	agent := cage{cageV2, filepath.Join(service.Folder, "agent")}
	if !agent.make() {
		t.Fatalf("%s cannot be made", agent.Folder)
	}
	defer func() { agent.remove(); service.remove() }()
	counted := unix.Access(filepath.Join(service.Folder, "memory.max"), unix.W_OK) == nil
	home := func() string {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "home")
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		leave, err := agent.enter(cmd.SysProcAttr)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	keeper := []string{"kernel", "agent"} // of version 1 the kernel's part may be elsewhere
	if got := strings.Fields(home()); got[0] != agent.Folder || !slices.Contains(keeper, got[1]) {
		t.Errorf("without the mark: %s, want below %s", got, agent.Folder)
	}
	if err := unix.Setxattr(service.Folder, "user.delegate", []byte("1"), 0); err != nil {
		t.Fatalf("marking %s: %v", service.Folder, err)
	}
	got := strings.Fields(home())
	if got[0] != service.Folder || counted && got[1] != "kernel" {
		t.Errorf("with the mark: %s, want below %s, where the kernel counts memory: %v", got, service.Folder, counted)
	}
}

// TestLimitOfAServiceIsFelt: the limits of the groups above count too, and the one that leaves least.
func TestLimitOfAServiceIsFelt(t *testing.T) {
	t.Parallel()
	for _, g := range memoryGroups() {
		service := memoryGroup{g.kind, filepath.Join(g.folder, fmt.Sprintf("qb-felt-%d", os.Getpid())), g.limit}
		if os.Mkdir(service.folder, 0o755) != nil {
			continue
		}
		defer os.Remove(service.folder)
		if (cage{g.kind, service.folder}).write(g.limit, "104857600") != nil {
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
