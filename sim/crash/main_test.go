package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"qb/sim/netns"
)

// TestMain builds qb and its links, with the race detector if the tests have it, and puts them first into PATH.
// It is also the program of load-once jobs.
func TestMain(m *testing.M) {
	if isLoaded(os.Args) {
		os.Exit(loadedMain(os.Args[2:]))
	}
	os.Exit(netns.Main(os.Getenv(onMachines) != "", func() int { return withQB(m.Run) }))
}

func withQB(run func() int) int {
	dir, err := os.MkdirTemp("", "qb-bin-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = buildQB(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")) // fails for impossible names only
	return run()
}

func buildQB(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil { // items run as other users, too
		return err
	}
	qb := filepath.Join(dir, "qb")
	args := []string{"build", "-o", qb}
	if withRaceDetector() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "qb/cmd/qb")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build qb/cmd/qb: %w\n%s", err, out)
	}
	links, err := exec.Command(qb, "links").Output()
	if err != nil {
		return fmt.Errorf("qb links: %w", err)
	}
	for _, link := range strings.Fields(string(links)) {
		if err := os.Symlink("qb", filepath.Join(dir, link)); err != nil {
			return err
		}
	}
	return nil
}

func withRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
