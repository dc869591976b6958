package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"qb/api"
	"qb/supervisor/job/facts"
)

// TestParts: what words and options of an action ask for.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		action, options, items, instances string
		want                              api.ActionRequest
	}{
		{"kill", "", "5-9", "", api.ActionRequest{Items: "5-9"}},
		{"kill", "", "", "0-3", api.ActionRequest{Instances: "0-3"}},
		{"kill", "-subjob", "5-9", "", api.ActionRequest{Instances: "5-9"}},
		{"kill", "-work", "", "5", api.ActionRequest{Items: "5"}},
		{"kill", "-work -subjob", "", "5", api.ActionRequest{Instances: "5"}},
		{"kill", "-workpending -workblocked", "", "", api.ActionRequest{ItemStates: []string{"pending", "blocked"}}},
		{"kill", "-workpending -subjobrunning", "", "", api.ActionRequest{ItemStates: []string{"pending"}, InstanceStates: []string{"running"}}},
		{"kill", "-subjobrunning", "", "1", api.ActionRequest{Instances: "1", InstanceStates: []string{"running"}}},
		{"suspend", "-subjob", "", "", api.ActionRequest{InstanceStates: []string{"running"}}},
		{"retry", "-work", "", "", api.ActionRequest{ItemStates: []string{"failed", "killed"}}},
		{"retry", "-workdone", "", "", api.ActionRequest{ItemStates: []string{"complete", "failed", "killed"}}},
		{"requeue", "-subjobdone", "", "", api.ActionRequest{InstanceStates: []string{"failed", "killed"}}},
		{"shove", "", "", "", api.ActionRequest{}},
	} {
		if got, err := partRequest(t, c.action, c.options, c.items, c.instances); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s of %q and %q asks for %+v, %v; want %+v", c.action, c.options, c.items, c.instances, got, err, c.want)
		}
	}
	for _, c := range [][4]string{{"kill", "-workpending", "", "3"}, {"kill", "-subjobrunning", "3", ""}, {"kill", "-work -subjobrunning", "", ""}, {"kill", "-subjob -workrunning", "", ""}} {
		if got, err := partRequest(t, c[0], c[1], c[2], c[3]); api.ExitCode(err) != 2 {
			t.Errorf("%v asks for %+v, %v; want wrong usage", c, got, err)
		}
	}
}

func partRequest(t *testing.T, action, options, items, instances string) (api.ActionRequest, error) {
	var parts itemChoice
	flags := pflag.NewFlagSet(action, pflag.ContinueOnError)
	parts.Bind(flags, action)
	for _, option := range strings.Fields(strings.ReplaceAll(options, "-", "")) {
		if err := flags.Set(option, "true"); err != nil {
			t.Fatal(err)
		}
	}
	return parts.Request("12", items, instances)
}

// TestEachActionTakesStates: an action acts on whole jobs, or on items and instances in certain states.
func TestEachActionTakesStates(t *testing.T) {
	for _, a := range facts.Actions {
		whole := slices.Contains([]facts.Action{facts.Shove, facts.Top, facts.Bottom}, a)
		if whole != (a.TakesItems() == nil) || whole != (a.TakesInstances() == nil) {
			t.Errorf("%s takes items that are %v and instances that are %v", a, a.TakesItems(), a.TakesInstances())
		}
		if state := facts.Refuses(facts.ItemStates, append(a.TakesItems(), a.TakesInstances()...)); state != "" {
			t.Errorf("%s takes %q, which is no state", a, state)
		}
	}
}
