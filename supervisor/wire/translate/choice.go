package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// Choice reads which items of a job an action applies to, except their names, and the action itself: retry of complete
// items is redo.
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
			return a, c, problem.Invalid(kind.member, "%s does not take %s ones; it takes those that are %s", a,
				problem.Clip(state), facts.Either(kind.takes))
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
	add("on host ", r.Host)
	if r.ExitCode != nil {
		add("with exit status ", strconv.Itoa(*r.ExitCode))
	}
	add("instances ", r.Instances)
	add("instances that are ", facts.Either(r.InstanceStates))
	return strings.Join(parts, "; ")
}

// ChoosesByEnd says whether an order chooses items by the host or the exit status of their latest attempt.
func ChoosesByEnd(r *api.ActionRequest) bool { return r != nil && (r.Host != "" || r.ExitCode != nil) }

// EndStates are the states of items that such an order takes: without others all that it changes by itself, so that an
// item that has changed since is left alone.
func EndStates(e message.JobAction) []string {
	if e.Choice.States != nil {
		return e.Choice.States
	}
	return slices.DeleteFunc(slices.Clone(e.Action.TakesItems()), func(state string) bool {
		return e.Action == facts.Retry && state == facts.ItemComplete
	})
}

// Among is the intersection of the named items, nil for all items, with the list, which is sorted.
func Among(named []agenda.Span, list []facts.ItemNo) []agenda.Span {
	numbers := make([]int, 0, len(list))
	for _, n := range list {
		if named == nil || agenda.Within(named, int(n)) {
			numbers = append(numbers, int(n))
		}
	}
	return agenda.SpansOf(numbers)
}

// NoneEndedSo answers an order that chooses no item by its end.
func NoneEndedSo(v facts.JobFacts, r *api.ActionRequest) api.ActionReply {
	text := ""
	if r.Host != "" {
		text = " on host " + problem.Clip(r.Host)
	}
	if r.ExitCode != nil {
		text += " with exit status " + strconv.Itoa(*r.ExitCode)
	}
	return api.ActionReply{Job: int64(v.ID), Version: v.Version,
		Remarks: []string{fmt.Sprintf("no item of job %d ended%s; qbitems %d shows where and how they ended", v.ID,
			text, v.ID)}}
}
