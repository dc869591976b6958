package main

import (
	"testing"

	"qb/cmd/qb/commandline"
)

// Options of qbsub after the command get a remark, unless it is meant so.
func TestOptionsBehindTheCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-cpus", "2", "render", "scene"}, ""},
		{[]string{"render", "-cpus", "2"}, "-cpus comes after the command, so the command gets it; write options of qbsub before the command"},
		{[]string{"render", "--cpus=2", "-name", "x", "-name", "y"},
			"-cpus, -name come after the command, so the command gets them; write options of qbsub before the command"},
		{[]string{"--", "render", "-cpus", "2"}, ""},
		{[]string{"-range", "1-2", "--", "render", "-cpus", "2"}, ""},
		{[]string{"-cpus", "1", "render", "-cpus", "2"}, ""},
		{[]string{"render", "-no-such-option", "-c", "cpus"}, ""},
		{[]string{"render -cpus 2"}, ""},
	} {
		root, typed := newRoot(), append([]string{"sub"}, c.args...)
		words, at, err := commandline.Rewrite(root, typed)
		if err != nil {
			t.Fatal(err)
		}
		cmd, rest, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		cmd.SetContext(withTyped(t.Context(), append([]string{"qb"}, typed...), typed, at))
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		got := behind(cmd, cmd.Flags().Args())
		if len(got) > 1 || len(got) == 1 && got[0] != c.want || len(got) == 0 && c.want != "" {
			t.Errorf("%q: %q", c.args, got)
		}
	}
}
