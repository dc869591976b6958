package translate

import (
	"slices"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/problem"
)

// Choice reads which items of a job an order is for, but for their names, and which order that is: retry of complete items is redo.
func Choice(a facts.Action, r *api.ActionRequest) (facts.Action, message.Choice, error) {
	var c message.Choice
	if r == nil {
		return a, c, nil
	}
	for _, kind := range []struct {
		member        string
		states, takes []string
	}{{"item_states", r.ItemStates, a.TakesItems()}, {"instance_states", r.InstanceStates, a.TakesInstances()}} {
		if state := facts.Refuses(kind.takes, kind.states); state != "" {
			return a, c, problem.Invalid(kind.member, "%s does not take %s ones; it takes those that are %s", a, problem.Clip(state), facts.Either(kind.takes))
		}
	}
	if len(r.ItemStates) > 0 {
		c.States = r.ItemStates
	}
	if len(r.InstanceStates) > 0 {
		c.InstanceStates = r.InstanceStates
	}
	if r.Instances != "" {
		numbers, err := agenda.ParseNumbers(r.Instances)
		if err != nil {
			return a, c, problem.Invalid("instances", "%v", err)
		}
		c.Instances = numbers
	}
	if a == facts.Retry && slices.Contains(slices.Concat(c.States, c.InstanceStates), facts.ItemComplete) {
		a = facts.Redo
	}
	return a, c, nil
}

// ChoiceText tells what an order is for: the items as named, then what else it chooses by; empty: the whole job.
func ChoiceText(r *api.ActionRequest) string {
	if r == nil {
		return ""
	}
	var parts []string
	add := func(before, text string) {
		if text != "" {
			parts = append(parts, before+text)
		}
	}
	add("", r.Items)
	add("items that are ", facts.Either(r.ItemStates))
	add("instances ", r.Instances)
	add("instances that are ", facts.Either(r.InstanceStates))
	return strings.Join(parts, "; ")
}
