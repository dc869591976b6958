package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/cgroup"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// realUser is an account of its own, for the test; only root can make one.
func realUser(t *testing.T) (u *user.User, ok bool) {
	t.Helper()
	if _, err := exec.LookPath("useradd"); os.Geteuid() != 0 || err != nil {
		t.Log("only root makes users, and with useradd")
		return nil, false
	}
	name := fmt.Sprintf("qbt%d", time.Now().UnixNano()%1e9)
	if out, err := exec.Command("useradd", "-M", "-U", "-K", "UID_MIN=20000", name).CombinedOutput(); err != nil {
		t.Fatalf("useradd: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("userdel", name).Run() })
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return u, true
}

// ownersConfig is the configuration of a worker that root runs, whose items run as their owners.
func ownersConfig(t *testing.T, f *scriptedFarm) settings.Config {
	c := testConfig(t, f)
	c.RunAs = settings.RunAsOwner
	return c
}

// openFolder is a folder that every user may enter.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "qb-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestShimOpensNoPathOfAnOwner: what is another file to root's shim than to the owner's process, and what would
// block a program that opens it, holds no slot, and tells nothing of files that are closed to the owner.
func TestShimOpensNoPathOfAnOwner(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	runAgent(t, ownersConfig(t, f))
	open, closed := openFolder(t), openFolder(t)
	fifo := filepath.Join(open, "fifo")
	if err := unix.Mkfifo(fifo, 0o777); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(open, "script")
	for path, text := range map[string]string{script: "#!" + fifo + "\n", filepath.Join(closed, "there"): "#!/secret/interpreter\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(script, 0o755)
	os.Mkdir(filepath.Join(closed, "folder"), 0o755)
	os.Chmod(closed, 0o700)
	specs := []api.JobSpec{
		{Command: []string{"/proc/self/cwd" + fifo}, Cwd: open},
		{Command: []string{fifo}, Cwd: open},
		{Command: []string{"fifo"}, Cwd: open, Env: map[string]string{"PATH": open}},
		{Command: []string{script}, Cwd: open},
		{Command: []string{filepath.Join(closed, "there")}, Cwd: open},
		{Command: []string{filepath.Join(closed, "folder")}, Cwd: open},
		{Command: []string{filepath.Join(closed, "missing")}, Cwd: open},
		{Command: []string{"/proc/self/cwd" + filepath.Join(closed, "there")}, Cwd: open},
		{Command: []string{"true"}, Cwd: filepath.Join(closed, "there")},
		{Command: []string{"true"}, Cwd: filepath.Join(closed, "folder")},
		{Command: []string{"true"}, Cwd: filepath.Join(closed, "missing")},
	}
	for i := range specs {
		specs[i].User = u.Username
	}
	began := time.Now()
	plain := map[string]bool{}
	f.each(specs, func(i int, end api.Finished) {
		outcome, code := "launch", ""
		if specs[i].Command[0] == "true" { // it is the folder that is closed to the owner
			outcome, code = "refused", "folder_denied"
		}
		if end.Outcome != outcome || end.Code != code || strings.Contains(end.Reason, "secret") {
			t.Errorf("%v in %s: %+v", specs[i].Command, specs[i].Cwd, end)
		}
		if i < 4 || i == 7 {
			return
		}
		for _, name := range []string{"there", "folder", "missing"} {
			end.Reason = strings.ReplaceAll(end.Reason, name, "X")
		}
		plain[end.Reason] = true
	})
	if len(plain) != 2 { // one for programs, one for working directories
		t.Errorf("files that are closed to the owner are told apart: %v", plain)
	}
	if took := time.Since(began); took > testPatience/2 {
		t.Errorf("it took %s", took)
	}
	f.await("the slots are free", func() bool { return len(f.last.Instances) == 0 })
}

// silentFolder is the root of a file system that answers no one, as an owner's own program may offer one.
func silentFolder(t *testing.T) (dir string, ok bool) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Logf("only root mounts a file system of his own: %v", err)
		return "", false
	}
	dir = t.TempDir()
	if err := unix.Mount("silent", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other", fd)); err != nil {
		unix.Close(fd)
		t.Logf("only root mounts a file system of his own: %v", err)
		return "", false
	}
	t.Cleanup(func() {
		unix.Unmount(dir, unix.MNT_DETACH)
		unix.Close(fd)
	})
	return dir, true
}

// TestProgramOnASilentFileSystem: its start hangs. The shim hears orders meanwhile, however much it hears, and gives up
// by itself in the end.
func TestProgramOnASilentFileSystem(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	for id := range int64(2) { // a file system each: the kernel lets the second to ask one wait for the first
		silent, ok := silentFolder(t)
		if !ok {
			return
		}
		f.job(id+1, filepath.Join(silent, "render"))
	}
	runAgent(t, testConfig(t, f))
	left, stopped := attempt(1, 0), attempt(2, 0)
	f.with(func() {
		f.wantLocked(core.Key{Job: 1, Instance: 0}, left)
		f.wantLocked(core.Key{Job: 2, Instance: 0}, stopped)
	})
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(500 * time.Microsecond) {
		f.with(func() {})
	}
	f.with(func() { delete(f.wanted, core.Key{Job: 2, Instance: 0}) })
	gaveUp := false
	f.await("the end of the one that was ordered to stop", func() bool {
		_, gaveUp = f.ends[left]
		_, ended := f.ends[stopped]
		return ended
	})
	if end := f.awaitEnd(stopped); end.Outcome != core.OutcomeStopped || gaveUp {
		t.Errorf("it was ordered to stop, and is told as %+v; the other one's start was given up before: %v", end, gaveUp)
	}
	if end := f.awaitEnd(left); end.Outcome != "launch" || !strings.Contains(end.Reason, "did not answer") {
		t.Errorf("its start hung, and it is told as %+v", end)
	}
	f.await("the slots are free", func() bool { return len(f.last.Instances) == 0 })
}

// TestAttackSharedMemory (M3): what an item writes to /dev/shm is its own memory; neither that nor its System V memory,
// queues and semaphores are there when it has ended, for the host or for the next item.
func TestAttackSharedMemory(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	const megabyte = 1 << 20
	f := newScriptedFarm(t)
	runAgent(t, ownersConfig(t, f))
	counted := keeperHere("shm", cgroup.Kinds) == "kernel"
	const count = `ipcs -m -q -s | grep -c ^0x; ls -A /dev/shm; `
	spec := f.job(1, count+`dd if=/dev/zero of=/dev/shm/big bs=1M count=48 status=none; ipcmk -M 1048576 -Q -S 2 >/dev/null; sleep 0.7; `+count)
	spec.Shell, spec.User, spec.Cwd = true, u.Username, "/"
	f.with(func() { f.specs[1] = spec })
	for item := range 2 { // of one instance
		f.want(core.Key{Job: 1, Instance: 0}, attempt(1, item))
		end := f.awaitEnd(attempt(1, item))
		if out := f.output(end.Attempt, shim.StreamOut); out != "0\n3\nbig\n" {
			t.Errorf("item %d finds and makes %q; %+v %s", item, out, end, f.output(end.Attempt, shim.StreamErr))
		}
		if counted && end.PeakMemory < 48*megabyte {
			t.Errorf("of 48 MB in its /dev/shm %d count", end.PeakMemory)
		}
	}
	// the kernel frees it a moment later
	f.await("the host has nothing of it", func() bool { return leftInMemory(t, u.Uid) == "" })
	full := attempt(2, 0)
	spec = f.job(2, "dd if=/dev/zero of=/dev/shm/big bs=1M count=200 status=none")
	spec.Shell, spec.User, spec.Cwd = true, u.Username, "/"
	f.with(func() {
		f.specs[2] = spec
		f.wantLocked(core.Key{Job: 2, Instance: 0}, full)
		d := f.wanted[core.Key{Job: 2, Instance: 0}]
		d.Memory, d.HardLimit = 64*megabyte, true
		f.wanted[core.Key{Job: 2, Instance: 0}] = d
	})
	if end := f.awaitEnd(full); counted && (end.Outcome != core.OutcomeMemory || !end.Limit) {
		t.Errorf("200 MB of /dev/shm past a limit of 64 MB: %+v", end)
	}
}

// leftInMemory are the user's lines in the kernel's lists of System V objects, as the host sees them.
func leftInMemory(t *testing.T, uid string) (lines string) {
	t.Helper()
	for _, kind := range []string{"shm", "msg", "sem"} {
		data, err := os.ReadFile("/proc/sysvipc/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if slices.Contains(strings.Fields(line), uid) {
				lines += kind + line
			}
		}
	}
	return lines
}

// TestAttackTrustedItems (M6): where all items run as the worker's own user, the start says so, before anything runs.
func TestAttackTrustedItems(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{settings.RunAsAgent: true, settings.RunAsOwner: false} {
		if mode == settings.RunAsOwner && os.Geteuid() != 0 {
			continue
		}
		var said bytes.Buffer
		f := newScriptedFarm(t)
		config := testConfig(t, f)
		config.RunAs = mode
		stop := runAgentOptions(t, config, testOptions(slog.NewTextHandler(&said, nil)))
		f.await("the first sync", func() bool { return f.syncs > 0 })
		stop()
		if got := strings.Contains(said.String(), "all items run as the worker's own user:"); got != want {
			t.Errorf("run_as %s: said %v, want %v: %s", mode, got, want, said.String())
		}
	}
}
