package pgcluster

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOrphanSignals(t *testing.T) {
	head, backend := serverProcess{1, true}, serverProcess{2, false}
	both, headless := []serverProcess{head, backend}, []serverProcess{backend}
	for _, tc := range []struct {
		name string
		p    serverProcess
		all  []serverProcess
		age  time.Duration
		want syscall.Signal
	}{
		{"a postmaster is asked to end", head, both, 0, syscall.SIGINT},
		{"its backends are left to it", backend, both, 0, 0},
		{"a slow postmaster must end", head, both, 5 * time.Second, syscall.SIGQUIT},
		{"and its backends", backend, both, 5 * time.Second, syscall.SIGQUIT},
		{"a stuck postmaster is killed", head, both, 11 * time.Second, syscall.SIGKILL},
		{"headless backends must end at once", backend, headless, 0, syscall.SIGQUIT},
		{"stuck ones are killed", backend, headless, 7 * time.Second, syscall.SIGKILL},
	} {
		if got := orphanSignal(tc.p, tc.all, tc.age); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A shell that works in the data folder is no server and is spared.
func TestOnlyServersAreEnded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chdir("/") })
	if got := serverProcesses(dir); len(got) != 0 {
		t.Errorf("took %v for servers; this test is process %d", got, os.Getpid())
	}
}

func TestLock(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new")
	release, err := Lock(state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(state); err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("second lock: %v", err)
	}
	release()
	release, err = Lock(state)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	release()
}

func TestFindBinaries(t *testing.T) {
	ctx := context.Background()
	if _, err := findBinaries(ctx, t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "database_bindir") {
		t.Errorf("an empty database_bindir: %v", err)
	}
	b, err := findBinaries(ctx, "", 0)
	if err != nil || b.major < MinMajor {
		t.Fatalf("installed server: %+v, %v", b, err)
	}
	again, err := findBinaries(ctx, b.dir, 0)
	if err != nil || again != b {
		t.Errorf("naming it: %+v, %v", again, err)
	}
}

func TestFirstNumber(t *testing.T) {
	for text, want := range map[string]int{"postgres (PostgreSQL) 15.18 (Debian)": 15, "/opt/postgresql@17/bin": 17, "": 0,
		"x": 0, "9": 9} {
		if got := firstNumber(text); got != want {
			t.Errorf("firstNumber(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestClosedParentIsNamed(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	state := filepath.Join(closed, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := &account{uid: 65533, gid: 65533}
	if err := stranger.checkParents(closed); err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("closed parent: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give the folder's group away
	}
	if err := stranger.admitInto(state); err != nil {
		t.Fatal(err)
	}
	if ok, err := stranger.mayEnter(state); !ok || err != nil {
		t.Errorf("not let in: %v", err)
	}
}
