package shim

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What an item writes beyond its log's limit makes it wait, and costs the worker's user next to nothing.
func TestDroppedOutputCostsTheItem(t *testing.T) {
	shared, err := newPumping()
	if err != nil {
		t.Fatal(err)
	}
	p := newPump(newLog(filepath.Join(t.TempDir(), "log"), 64<<10, shared), shared)
	var pipes [2][2]int
	for n := range pipes {
		if err := syscall.Pipe2(pipes[n][:], syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	yes := exec.Command("yes", "a line of output that nobody keeps")
	yes.Stdout, yes.Stderr = os.NewFile(uintptr(pipes[0][1]), "out"), os.NewFile(uintptr(pipes[1][1]), "err")
	if err := yes.Start(); err != nil {
		t.Fatal(err)
	}
	yes.Stdout.(*os.File).Close()
	yes.Stderr.(*os.File).Close()
	before, began := ownCPU(t), time.Now()
	time.AfterFunc(2*time.Second, func() { yes.Process.Kill() })
	p.run(pipes[0][0], pipes[1][0])
	used, took := ownCPU(t)-before, time.Since(began)
	_ = yes.Wait() // it was killed
	if !p.log.full || used > took/8 {
		t.Errorf("reading what is dropped took %v of processor in %v; full: %v", used, took, p.log.full)
	}
	t.Logf("%v of processor in %v", used, took)
}

func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
