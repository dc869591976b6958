package worker

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"qb/worker/settings"
)

// holdLock has another process lock a folder, itself or through a child that has ended.
func holdLock(t *testing.T, dev, mode string, passed bool, uid uint32) {
	t.Helper()
	cmd := exec.Command("flock", "-n", mode, dev, "sh", "-c", "echo locked; read wait")
	if passed {
		cmd = exec.Command("sh", "-c", `exec 8<"$0"; flock -n `+mode+` 8 && echo locked; read wait`, dev)
	}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatal(line, err)
	}
}

// deviceFolderOf is a folder that all users may read, with the device files of so many GPUs.
func deviceFolderOf(t *testing.T, gpus int) string {
	t.Helper()
	dev, err := os.MkdirTemp("/tmp", "qb-devices-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dev) })
	if err := os.Chmod(dev, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range gpus {
		if err := os.WriteFile(filepath.Join(dev, fmt.Sprintf("nvidia%d", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dev
}

// The lock of a worker counts; that of another user does not.
func TestLocksOfDevices(t *testing.T) {
	t.Parallel()
	if theirs, err := lockDevices(deviceFolderOf(t, 0)); theirs || err != nil {
		t.Error(theirs, err)
	}
	for _, mode := range []string{"-x", "-s"} {
		dev := deviceFolderOf(t, 0)
		holdLock(t, dev, mode, false, 0)
		if theirs, err := lockDevices(dev); !theirs || err != nil {
			t.Error(mode, theirs, err)
		}
		for _, passed := range []bool{false, true} {
			if os.Geteuid() != 0 {
				continue // only root can be another user
			}
			dev := deviceFolderOf(t, 0)
			holdLock(t, dev, mode, passed, 65534)
			if theirs, err := lockDevices(dev); theirs || err == nil {
				t.Error(mode, passed, theirs, err)
			}
		}
	}
}

// Of the workers of a machine one offers its GPUs, and all hide them.
func TestGPUsAreCountedOnce(t *testing.T) {
	t.Parallel()
	dev := deviceFolderOf(t, 2)
	for n, offered := range []int{2, 0, 0} {
		a := &agent{log: slog.New(slog.DiscardHandler)}
		a.findGPUs(dev, false)
		if got := resourcesOf(a.config, a.gpus, 0)["gpus"]; got != offered || !a.hidesGPUs() {
			t.Errorf("worker %d offers %d GPUs and hides them: %v", n+1, got, a.hidesGPUs())
		}
	}
	none := &agent{log: slog.New(slog.DiscardHandler), config: settings.Config{Resources: map[string]int{"gpus": 0}}}
	if none.findGPUs(dev, false); none.hidesGPUs() {
		t.Error("a worker that is not to care for GPUs hides them")
	}
}
