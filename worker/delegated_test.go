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

	"qb/worker/cgroup"
)

// TestGroupsAreMadeInTheGroupThatIsLeftToUs: a service of systemd that is put into a group "agent" below the one
// with the mark of delegation makes its groups in that one, where memory can be counted; without the mark it
// keeps to its own. Its limit is felt in either.
func TestGroupsAreMadeInTheGroupThatIsLeftToUs(t *testing.T) {
	t.Parallel()
	if usableGroups()[cgroup.V2] == nil {
		t.Log("this host lets no control groups of version 2 be made")
		return
	}
	service := cgroup.New([]string{cgroup.V2}, fmt.Sprintf("service-%d", os.Getpid()))
	agent := cgroup.Group{Kind: cgroup.V2, Folder: filepath.Join(service.Folder, "agent")}
	if !agent.Make() {
		t.Fatalf("%s cannot be made", agent.Folder)
	}
	defer func() { agent.Remove(); service.Remove() }()
	counted := unix.Access(filepath.Join(service.Folder, "memory.max"), unix.W_OK) == nil
	home := func() string {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "home")
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		leave, err := agent.Enter(cmd.SysProcAttr)
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
