package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestPortIsNeverFree: while qb farm restarts by order, no other program gets its port on either address of loopback,
// and clients that connect meanwhile are answered by the successor. After a kill the port is free: the test would see
// it.
func TestPortIsNeverFree(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-hosts", "0", "-listen", "127.0.0.1:0")
	port := f.url[strings.LastIndex(f.url, ":")+1:]
	var got, tries atomic.Int64
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, host := range []string{"127.0.0.1", "::1"} {
				if l, err := net.Listen("tcp", net.JoinHostPort(host, port)); err == nil {
					got.Add(1)
					_ = l.Close() // it was free
				}
				tries.Add(1)
			}
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	pid := f.cmd.Process.Pid
	for range 3 {
		f.run(0, "qb", "farm", "-restart", "-state", f.state)
		f.run(0, "qbping")
	}
	if n := got.Load(); n > 0 || tries.Load() < 1000 {
		t.Errorf("of %d tries during three restarts a stranger got the port %d times", tries.Load(), n)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Error("another process runs the farm")
	}
	close(stop)
	<-done
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	_ = f.cmd.Wait()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatalf("after its end the farm has the port: %v", err)
	}
	_ = l.Close()
}

// bothOfLoopback listens on both addresses of loopback at one port.
func bothOfLoopback(t *testing.T) (four, six net.Listener) {
	t.Helper()
	for range 20 {
		four, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if six, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", four.Addr().(*net.TCPAddr).Port)); err == nil {
			return four, six
		}
		_ = four.Close() // another port is tried
	}
	t.Fatal("no port is free on both addresses of loopback")
	return nil, nil
}

// TestSocketUnit: a supervisor that is started with its listeners, as by a socket unit of systemd, serves them, and
// closes the ones that are no address of its configuration; what it starts has none of them.
func TestSocketUnit(t *testing.T) {
	t.Parallel()
	dir := farmFolder(t)
	four, six := bothOfLoopback(t)
	port := four.Addr().(*net.TCPAddr).Port
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for _, l := range []net.Listener{four, six, other} {
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		_ = l.Close() // the file is the unit's
	}
	// A shell names itself as the process that the sockets are for and becomes the farm.
	cmd := exec.Command("sh", "-c", `export LISTEN_PID=$$ LISTEN_FDS=3; exec qb farm -hosts 0 -state "$1" -listen "$2"`, "sh", filepath.Join(dir, "farm"), fmt.Sprint("127.0.0.1:", port))
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "QB_CONF="+os.DevNull), files
	log := filepath.Join(dir, "log")
	written, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	cmd.Stderr = written
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	for _, file := range files {
		_ = file.Close() // the farm has its own
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	said, _ := os.ReadFile(log)
	if want := fmt.Sprintf("ready http://127.0.0.1:%d\n", port); line != want {
		t.Fatalf("the farm says %q, want %q: %v\n%s", line, want, err, said)
	}
	if !strings.Contains(string(said), other.Addr().String()) {
		t.Errorf("the socket that is no address is not named:\n%s", said)
	}
	if got := listening(t, cmd.Process.Pid, dir); !slices.Equal(got, []string{fmt.Sprintf("tcp 127.0.0.1:%d", port), fmt.Sprintf("tcp ::1:%d", port)}) {
		t.Errorf("the farm listens on %q", got)
	}
}
