//go:build !client

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEachNameHasAPage: commands by their help, links by their command, and Qube's other commands by what to type instead.
func TestEachNameHasAPage(t *testing.T) {
	root := &cobra.Command{Use: "qb", Short: "Run jobs"}
	sub := &cobra.Command{Use: "sub COMMAND…", Short: "Submit a job", RunE: func(*cobra.Command, []string) error { return nil }}
	sub.Flags().Int("cpus", 1, "number `N` of primary instances")
	root.AddCommand(sub)
	dir := t.TempDir()
	if err := writeManPages(root, []string{"qbsub", "qbhash"}, "1.2", dir); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string][]string{
		"qb":     {"Run jobs", "qb-sub(1)"},
		"qb-sub": {"Submit a job", "cpus", "number N of primary instances", "qb 1.2"},
		"qbsub":  {".so man1/qb-sub.1"},
		"qbhash": {"a command of Qube! that qb does not have", "tokens", "qb 1.2"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(strings.NewReplacer(`\fB`, "", `\fR`, "", `\fP`, "").Replace(string(text)), want) {
				t.Errorf("%s.1 lacks %q:\n%s", name, want, text)
			}
		}
	}
}

func TestTextIsNoInstruction(t *testing.T) {
	if got := roff(`.so /etc/passwd \n-x`); got != `\&.so /etc/passwd \en\-x` {
		t.Errorf("got %q", got)
	}
}
