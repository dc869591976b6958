package farm_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qb/api"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata; commit a change only if you understood it")

// TestDialogues replays testdata/*.txt: a line that starts with "> " is said to the farm, what follows is
// all that it answers, up to the next such line. Lines with "#" are for the reader.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues found: %v", err)
	}
	seen, ran := map[string]bool{}, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			ran++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text), seen)
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
	if ran == len(files) {
		wantAllTypes(t, seen)
	}
}

// wantAllTypes wants dialogues to make events of each type that the farm can, so that a type which nothing makes any
// more is noticed.
func wantAllTypes(t *testing.T, seen map[string]bool) {
	others := []string{ // made outside of the farm, or by a test of its own
		"job-changed", "host-registered", "host-changed", "compacted", "logs-removed", "logs-removed-early", "audit-problem", "mail-dropped", "read-only", "writable", "restored", "superseded", "reset",
		"plans-stopped", "plans-resumed", // TestWithoutACulpritTheFarmGoesOnWithoutPlans
		"order-refused", // TestARefusedOrderIsInTheHistory
	}
	for _, k := range api.EventKinds {
		if seen[k.Type] == slices.Contains(others, k.Type) {
			t.Errorf("events of the type %s: %v", k.Type, seen[k.Type])
		}
		delete(seen, k.Type)
	}
	if len(seen) > 0 {
		t.Errorf("api.EventKinds lacks %v", seen)
	}
}

// replay says a dialogue's lines to a farm and returns the dialogue as it is now; seen gets the types of its events.
func replay(t *testing.T, text string, seen map[string]bool) string {
	var out bytes.Buffer
	rig := newRig(t)
	rig.types = seen
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
