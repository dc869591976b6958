package main

import (
	"cmp"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// ownOptions are attributes that qbsub sets in another way than by an option that is made of the table.
var ownOptions = []string{"command", "order", "env"}

// Each attribute has an option, its value reaches the request, and qbjobs shows it.
func TestAttributeOptions(t *testing.T) {
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if slices.Contains(ownOptions, a.Name) == (a.Option != "") {
			t.Errorf("-%s is made of the table: %v", a.Name, a.Option != "")
		}
		for _, c := range []struct {
			option  attributeOption
			cmd     *cobra.Command
			request any
		}{{submitOption, newSubCommand(), &api.SubmitRequest{}}, {changeOption, newModifyCommand(), &api.ModifyRequest{}}} {
			if name, help, _ := c.option(a); help != "" {
				given(t, a, name, c.option, c.cmd, c.request)
			}
		}
		if a.Hidden {
			continue
		}
		column := slices.IndexFunc(jobColumns, func(c output.Column[api.Job]) bool { return c.Name == a.Name })
		if column < 0 {
			t.Errorf("qbjobs has no column %s", a.Name)
			continue
		}
		var job api.Job
		if err := giveMember(api.Member(&job, cmp.Or(a.In, a.Name)), a, sampleOption(a)); err != nil {
			t.Error(err)
		}
		if text := jobColumns[column].Of(job); text == "" || text == jobColumns[column].Of(api.Job{}) {
			t.Errorf("qbjobs shows %s as %q", a.Name, text)
		}
	}
}

func sampleOption(a *facts.Attribute) any {
	if isNumber(a) {
		return 7
	}
	return "seven"
}

func given(t *testing.T, a *facts.Attribute, name string, option attributeOption, cmd *cobra.Command, request any) {
	t.Helper()
	text := "seven"
	switch {
	case isNumber(a):
		text = "7"
	case a.Moment:
		text = "+7"
	case a.Name == "shell":
		text = "true"
	}
	if given, err := option.give(cmd.Flags(), request); given || err != nil {
		t.Errorf("%s: an option is given before any is", name)
	}
	if err := cmd.Flags().Set(name, text); err != nil {
		t.Fatal(err)
	}
	reached, err := option.give(cmd.Flags(), request)
	if member := api.Member(request, cmp.Or(a.In, a.Name)); err != nil || !reached || member.IsZero() {
		t.Errorf("-%s %s does not reach the request", name, text)
	}
}

// Each column of each listing has a member or a text.
func TestColumnsHaveMembers(t *testing.T) {
	shows(jobColumns)
	shows(itemColumns)
	shows(attemptColumns)
	shows(hostColumns)
	shows(eventColumns)
	shows(auditColumns)
	shows(tokenColumns)
}

func shows[T any](columns []output.Column[T]) {
	for _, c := range columns {
		c.Of(*new(T)) // panics without a member
	}
}
