package sim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bugHead is what the head of each patch in testdata/bugs says, for tools/bugs to read.
var bugHead = regexp.MustCompile(`\ABug: .+\.\nSeeds: ([0-9]+)\n(?:In: (?:farm|worker)\n)?Breaks: (.+)\n--- a/`)

// TestBugsApply: each known bug can still be put back, or `make bugs` would prove nothing of it.
func TestBugsApply(t *testing.T) {
	patches, err := filepath.Glob("testdata/bugs/*.patch")
	if err != nil || len(patches) < 10 {
		t.Fatalf("%d patches, %v", len(patches), err)
	}
	for _, patch := range patches {
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkBugHead(string(text)); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
		check := exec.Command("git", "apply", "-C1", "--check", filepath.Join("sim", patch))
		check.Dir = ".."
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply any more, make it anew: %v\n%s", patch, err, out)
		}
	}
}

func checkBugHead(text string) error {
	head := bugHead.FindStringSubmatch(text)
	if head == nil {
		return fmt.Errorf("its head is not as %s wants it: %.200q", bugHead, text)
	}
	if seeds, err := strconv.Atoi(head[1]); err != nil || seeds < 1 {
		return fmt.Errorf("seeds %s: %w", head[1], err)
	}
	_, err := regexp.Compile(strings.TrimSpace(head[2]))
	return err
}
