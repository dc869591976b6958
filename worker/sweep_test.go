package worker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"qb/worker/cgroup"
)

// TestEmptyGroupsAreRemoved: a group without a holder goes; a group that is held, has a process or is young stays.
func TestEmptyGroupsAreRemoved(t *testing.T) {
	t.Parallel()
	for name, kinds := range usableGroups() {
		if name == "none" {
			continue
		}
		group := func(what string) cgroup.Group {
			return cgroup.New(kinds, fmt.Sprintf("sweep-%s-%d-%s", name, os.Getpid(), what))
		}
		left, held, young := group("left"), group("held"), group("young")
		defer func() { left.Remove(); held.Remove(); young.Remove() }()
		held.Hold()
		old := time.Now().Add(-2 * cgroup.SweepAfter)
		for _, c := range []cgroup.Group{left, held} {
			if err := os.Chtimes(c.Folder, old, old); err != nil {
				t.Fatal(err)
			}
		}
		cgroup.Sweep(kinds)
		for c, want := range map[cgroup.Group]bool{left: false, held: true, young: true} {
			if _, err := os.Stat(c.Folder); (err == nil) != want {
				t.Errorf("%s is there: %v, want %v", c.Folder, err == nil, want)
			}
		}
	}
}

// TestAnybodysShimIsNotBelieved: a process that only calls itself the shim of another agent hides no memory, though it
// holds a lock; one of our own user does, and only while it holds it.
func TestAnybodysShimIsNotBelieved(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	for _, c := range []struct {
		who, uid, locks string
		want            bool
	}{{"a stranger", u.Uid, "9", false}, {"one of ours", "0", "9", true}, {"one of ours without its lock", "0", "8", false}} {
		dir := openFolder(t)
		folder := filepath.Join(dir, "i", "1.1")
		script := `mkdir -p i/1.1; exec 8>other 9>i/1.1/intent; flock ` + c.locks + `; echo up; read wait`
		if err := os.WriteFile(filepath.Join(dir, "shim"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		fake := exec.Command("setpriv", "--reuid", c.uid, "--clear-groups", "sh", "shim", folder)
		fake.Dir = dir
		in, _ := fake.StdinPipe()
		out, _ := fake.StdoutPipe()
		if err := fake.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("%s: %q, %v", c.who, line, err)
		}
		if got := foreignShim(fake.Process.Pid, "/elsewhere"); got != c.want {
			t.Errorf("%s is believed: %v", c.who, got)
		}
		in.Close()
		fake.Wait()
	}
}
