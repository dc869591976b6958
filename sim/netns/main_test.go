package netns

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// wanted is set by make netns. Without it the farm of machines is left out, which needs root and minutes.
const wanted = "QB_NETNS"

// TestMain runs the tests in namespaces of their own if make netns wants that.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(wanted) == "" {
		_ = flag.Set("test.skip", "^TestFarmOfMachines$") // testing has that flag
	}
	os.Exit(Main(os.Getenv(wanted) != "", m.Run))
}

// buildPrograms builds qb and its links in a new folder.
func buildPrograms(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	qb := filepath.Join(dir, "qb")
	if out, err := exec.Command("go", "build", "-o", qb, "qb/cmd/qb").CombinedOutput(); err != nil {
		t.Fatalf("go build qb/cmd/qb: %v\n%s", err, out)
	}
	links, err := exec.Command(qb, "links").Output()
	must(t, err)
	for _, link := range strings.Fields(string(links)) {
		must(t, os.Symlink("qb", filepath.Join(dir, link)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	folderPrefix = "qb-netns-"
	keptFile     = "kept" // in the folder of a run that failed
)

// newFolder makes a run's folder, and removes those of runs that were killed. A run holds a lock on its folder.
func newFolder() (string, error) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if err := removeDead(dir); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return "", err
	}
	if _, err = lockFolder(dir); err != nil { // until this process ends
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // items run as other users
}

func removeDead(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, keptFile)); err == nil {
		return nil
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil // a run holds it
	}
	defer syscall.Close(lock)
	return os.RemoveAll(dir)
}

func lockFolder(dir string) (int, error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}

// TestFoldersOfKilledRuns: the next run removes the folder of a killed run, not that of a run that goes on or failed.
func TestFoldersOfKilledRuns(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	runs, err := newFolder()
	must(t, err)
	killed, failed := filepath.Join(os.TempDir(), folderPrefix+"killed"), filepath.Join(os.TempDir(), folderPrefix+"failed")
	must(t, os.MkdirAll(filepath.Join(killed, "s1"), 0o755))
	must(t, os.Mkdir(failed, 0o755))
	must(t, os.WriteFile(filepath.Join(failed, keptFile), nil, 0o600))
	_, err = newFolder()
	must(t, err)
	for dir, want := range map[string]bool{runs: true, killed: false, failed: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", dir, err, want)
		}
	}
}

// TestAvailable: a user who may not make namespaces reads how, and a network is made in the outer ones only.
func TestAvailable(t *testing.T) {
	if os.Geteuid() != 0 && Available() == nil {
		t.Error("machines are available without root")
	}
	if _, err := New(t.TempDir(), "/", "a"); err == nil && !Inside() {
		t.Error("a network was made outside of namespaces")
	}
	if got := fmt.Sprint(lastOfEach([]string{"A=1", "B=1", "A=2"})); got != "[B=1 A=2]" && got != "[A=2 B=1]" {
		t.Errorf("got %s", got)
	}
}
