package shim

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process is silent if it ends soon, writes nothing and leaves no other process behind. The pipes of any other stay
// open, to be read.
func TestSilentProcesses(t *testing.T) {
	w, err := newWaiter()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script       string
		within       time.Duration
		silent, left bool
	}{
		{"exit 3", time.Minute, true, false},
		{"kill -9 $$", time.Minute, true, false},
		{"exec >&- 2>&-; exit 0", time.Minute, true, false},
		{"echo one", time.Minute, false, true},
		{"echo one >&2; exec >&-", time.Minute, false, true},
		{"sleep 1 & exit 0", time.Minute, false, true},
		{"exec sleep 1", firstLook, false, true},
	} {
		for range 3 { // the waiter keeps nothing of the one before
			if silent, left := attended(t, w, c.script, c.within); silent != c.silent || left != c.left {
				t.Errorf("%q: silent %v, a pipe left %v; want %v, %v", c.script, silent, left, c.silent, c.left)
			}
		}
	}
}

// attended runs a script in a shell that holds both pipes, and says what the waiter made of it.
func attended(t *testing.T, w *waiter, script string, within time.Duration) (silent, left bool) {
	t.Helper()
	var out, errs [2]int
	for _, pipe := range []*[2]int{&out, &errs} {
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	pidfd := -1
	pid, err := syscall.ForkExec(sh, []string{"sh", "-c", script}, &syscall.ProcAttr{
		Files: []uintptr{uintptr(null), uintptr(out[1]), uintptr(errs[1])}, Sys: &syscall.SysProcAttr{PidFD: &pidfd},
	})
	unix.Close(out[1])
	unix.Close(errs[1])
	if err != nil {
		t.Fatal(err)
	}
	if pidfd < 0 {
		t.Fatal("this kernel has no pidfd")
	}
	defer unix.Close(pidfd)
	pipes := [2]int{out[0], errs[0]}
	silent = w.silent(within, pidfd, &pipes)
	for _, fd := range pipes {
		if fd >= 0 {
			left = true
			unix.Close(fd)
		}
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	return silent, left
}
