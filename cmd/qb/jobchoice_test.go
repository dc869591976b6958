package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"qb/api"
	"qb/supervisor/wire/lists"
)

func TestOptionsBecomeAnExpressionThatIsRead(t *testing.T) {
	for _, c := range []struct {
		words      []string
		expression string
		plain      string
		states     []string
	}{
		{nil, "", "", nil},
		{[]string{"--user", "ana"}, "", "ana", nil},
		{[]string{"--user", "all", "--failed"}, "", "", []string{"failed"}},
		{[]string{"--user", "ana,ben"}, `user in "ana,ben"`, "", nil},
		{[]string{"--user", "a*"}, `user = "a*"`, "", nil},
		{[]string{"--done", "--status", "running"}, "", "", []string{"complete", "failed", "killed", "running"}},
		{[]string{"--name", `say "hi" \ bye`}, `name = "say \"hi\" \\ bye"`, "", nil},
		{[]string{"--priority", "5,6", "--cpus", "2"}, `priority in "5,6" and cpus = "2"`, "", nil},
		{[]string{"--name", "~^a,b$", "--expression", "cpus > 1 or id = 3"}, `name = "~^a,b$" and (cpus > 1 or id = 3)`, "", nil},
		{[]string{"--expression", "cpus > 1 or id = 3"}, "cpus > 1 or id = 3", "", nil},
	} {
		var o jobChoice
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse(c.words); err != nil {
			t.Fatal(err)
		}
		if got := o.Expression(); got != c.expression {
			t.Errorf("%q: expression %s, want %s", c.words, got, c.expression)
		}
		if got := o.Plain(); got != c.plain {
			t.Errorf("%q: user %q, want %q", c.words, got, c.plain)
		}
		if got := o.States(); !slices.Equal(got, c.states) {
			t.Errorf("%q: states %q, want %q", c.words, got, c.states)
		}
		if o.Given() != (len(c.words) > 0) {
			t.Errorf("%q: Given says %v", c.words, o.Given())
		}
		if _, err := lists.ReadFilter(&api.JobFilter{Expression: o.Expression()}); err != nil {
			t.Errorf("%q: the supervisor does not read it: %v", c.words, err)
		}
	}
}
