package shim

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deepen makes folders in each other, as deep as asked, from a folder.
func deepen(t *testing.T, top string, levels int) {
	t.Helper()
	fd, err := unix.Open(top, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	for range levels {
		if err == nil {
			err = unix.Mkdirat(fd, "d", 0o700)
		}
		next, openErr := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_RDONLY, 0)
		unix.Close(fd)
		if fd = next; err == nil {
			err = openErr
		}
	}
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
}

// TestEmpty: whatever its owner made of it, a folder is empty afterwards; a link is not followed, and two descriptors do.
func TestEmpty(t *testing.T) {
	dir := t.TempDir()
	outside, top := filepath.Join(dir, "outside"), filepath.Join(dir, "top")
	for _, path := range []string{outside, filepath.Join(outside, "kept"), top, filepath.Join(top, ".qb-1"), filepath.Join(top, ".qb-1/x"), filepath.Join(top, "closed/in/side/y"), filepath.Join(top, "wide")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3000 {
		path := filepath.Join(top, "wide", strings.Repeat("n", n%200)+string(rune('a'+n%26))+strings.Repeat("m", n/200))
		if err := os.WriteFile(path, nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(top, "wide", "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(top, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	deepen(t, top, 1000)
	for _, path := range []string{"closed/in/side", "closed/in", "closed", "wide"} {
		if err := os.Chmod(filepath.Join(top, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := empty(fd, time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error("what a link led to is gone")
	}
}

// TestEmptyBitByBit: a child whose time is over has done a part of it, and the next ones do the rest.
func TestEmptyBitByBit(t *testing.T) {
	top := t.TempDir()
	deepen(t, top, 1000)
	fd, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for tries := 1; ; tries++ {
		err := empty(fd, time.Now().Add(20*time.Millisecond))
		if err == nil {
			t.Logf("%d times", tries)
			break
		}
		if err != errMore || tries > 1000 {
			t.Fatalf("time %d: %v", tries, err)
		}
	}
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
