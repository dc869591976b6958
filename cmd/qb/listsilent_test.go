package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// emptyLists are the words after each listing command by which it has no rows on a farm with one blocked job, JOB, as
// far as words can do that.
var emptyLists = map[string]string{
	"jobs": "-name nosuch -no-headers", "items": "JOB -failed", "hosts": "-down", "instances": "JOB", "history": "JOB", "tree": "JOB",
	"profile": "-user nosuch", "stats": "-user nosuch", "share": "nosuch", "admin audit log": "-user nosuch", "admin credit log": "nosuch",
	"joborder": "HOST", "login": "-list", "admin account import": "-history", "type show": "blender",
}

// notListings have the options of listings, but change something, and print what they changed.
var notListings = []string{"whatif"}

// listings are the commands below this one with the options of a listing, by their words.
func listings(cmd *cobra.Command, words string, found map[string]bool) {
	flags := cmd.Flags()
	if cmd.RunE != nil && flags.Lookup("no-headers") != nil && flags.Lookup("json") != nil && !slices.Contains(notListings, words) {
		found[words] = true
	}
	for _, sub := range cmd.Commands() {
		listings(sub, strings.TrimSpace(words+" "+sub.Name()), found)
	}
}

// TestNoListIsSilent: anyone who asks for a list reads rows or what there is none of, of every command that lists.
func TestNoListIsSilent(t *testing.T) {
	needsPostgres(t)
	if err := shared.start(); err != nil {
		t.Fatal(err)
	}
	run := func(words ...string) (out, errOut bytes.Buffer, err error) {
		cmd := exec.Command("qb", words...)
		cmd.Env = append(cmd.Environ(), "QB_STATE="+filepath.Join(shared.state, "farm"), "QB_CONF=/dev/null")
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err = cmd.Run()
		return out, errOut, err
	}
	out, errOut, err := run("sub", "-status", "blocked", "true")
	if err != nil {
		t.Fatal(err, errOut.String())
	}
	job := strings.TrimSpace(out.String())
	found := map[string]bool{}
	listings(newRoot(), "", found)
	if len(found) < 15 {
		t.Errorf("only %d commands list: %v", len(found), found)
	}
	silent := 0
	for words := range found {
		args := strings.NewReplacer("JOB", job, "HOST", "h-1").Replace(words + " " + emptyLists[words])
		out, errOut, err := run(strings.Fields(args)...)
		if err != nil {
			t.Errorf("qb %s: %v: %s (does it need a line in emptyLists?)", args, err, errOut.String())
		}
		if out.Len() == 0 && strings.Count(errOut.String(), "\n") == 0 {
			t.Errorf("qb %s prints nothing", args)
		}
		if out.Len() == 0 {
			silent++
		}
	}
	if silent < 8 {
		t.Errorf("only %d lists were empty", silent)
	}
}
