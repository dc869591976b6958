package farm_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata; commit a change only if you understood it")

// TestDialogues replays testdata/*.txt: a line that starts with "> " is said to the farm, what follows is
// all that it answers, up to the next such line. Lines with "#" are for the reader.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s: the farm answers otherwise:\n%s", file, firstDifference(string(text), got))
			}
		})
	}
}

func replay(t *testing.T, text string) string {
	var out bytes.Buffer
	rig := newRig(t)
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"), line == "":
			fmt.Fprintln(&out, line)
		case strings.HasPrefix(line, "> "):
			fmt.Fprintln(&out, line)
			out.WriteString(rig.say(line[2:]))
		}
	}
	return out.String()
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for n := range max(len(w), len(g)) {
		var a, b string
		if n < len(w) {
			a = w[n]
		}
		if n < len(g) {
			b = g[n]
		}
		if a != b {
			return fmt.Sprintf("line %d\n  want %q\n  got  %q", n+1, a, b)
		}
	}
	return "only in trailing blanks"
}
