package main

import (
	"testing"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/lists"
)

// TestExactValues: a value that begins with = chooses the jobs with exactly this text, whatever is special in patterns,
// lists, regular expressions and quotes.
func TestExactValues(t *testing.T) {
	text := rapid.StringMatching(`[ab*%~=,"'\\^$.(\[{?+|\n é_-]{0,6}`)
	rapid.Check(t, func(rt *rapid.T) {
		name, other := text.Draw(rt, "name"), text.Draw(rt, "other")
		option := rapid.SampledFrom([]string{"name", "user", "kind", "label", "cluster", "account"}).Draw(rt, "option")
		var o jobChoice
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Bind(flags)
		if err := flags.Parse([]string{"--" + option, "=" + name}); err != nil {
			rt.Fatal(err)
		}
		filter, err := lists.ReadFilter(&api.JobFilter{Expression: o.Expression()})
		if err != nil {
			rt.Fatalf("%q: %s: %v", name, o.Expression(), err)
		}
		for _, called := range []string{name, other, name + "x", "x" + name} {
			v := facts.JobView{JobFacts: facts.JobFacts{Name: called, User: called, Kind: called, Label: called, Cluster: called, Account: called}}
			if filter.Passes(&v) != (called == name) {
				rt.Fatalf("-%s %q: %s decides wrongly on %q", option, "="+name, o.Expression(), called)
			}
		}
	})
}
