package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

type itemsOptions struct {
	list     output.ListOptions
	attempts bool
	states   map[string]*bool
}

var itemStates = []string{"pending", "running", "blocked", "complete", "failed", "killed"}

func newItemsCommand() *cobra.Command {
	o := itemsOptions{states: map[string]*bool{}}
	cmd := &cobra.Command{
		Use: "items JOB…", Short: "List the items of jobs in agenda order", Args: commandline.WantArgs(1, -1, "job id"),
		Example: "  qbitems 12\n  qbitems 12 -failed -json\n  qbitems 12 -attempts",
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	o.list.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&o.attempts, "attempts", false, "list every attempt, not only the latest of each item")
	for _, state := range itemStates {
		o.states[state] = cmd.Flags().Bool(state, false, "only items that are "+state)
	}
	return cmd
}

func (o *itemsOptions) run(cmd *cobra.Command, words []string) error {
	ids, err := jobIDs(words)
	if err != nil {
		return err
	}
	if o.attempts {
		return listOf(cmd, "no item"+ofJobs(ids)+" has run yet, so there are no attempts", o.list, attemptColumns,
			func(c *client, add func(...api.Attempt) error) error {
				return eachOf(ids, func(id int64) error { return c.eachAttempt(cmd.Context(), id, add) })
			})
	}
	var wanted []string
	for state, asked := range o.states {
		if *asked {
			wanted = append(wanted, state)
		}
	}
	slices.Sort(wanted)
	return listOf(cmd, noItems(ids, wanted), o.list, itemColumns, func(c *client, add func(...api.Item) error) error {
		return eachOf(ids, func(id int64) error {
			return c.eachItem(cmd.Context(), id, func(items ...api.Item) error {
				return add(slices.DeleteFunc(items, func(i api.Item) bool {
					return len(wanted) > 0 &&
						!slices.Contains(wanted, i.Status)
				})...)
			})
		})
	})
}

// noItems says that no item of the jobs is in one of these states, or in any.
func noItems(ids []int64, states []string) string {
	if len(states) == 0 {
		return "there are no items" + ofJobs(ids)
	}
	return "no item" + ofJobs(ids) + " is " + facts.Either(states)
}

// ofJobs names jobs; "" if there are none to name.
func ofJobs(ids []int64) string {
	if len(ids) == 0 {
		return ""
	}
	words := make([]string, len(ids))
	for n, id := range ids {
		words[n] = strconv.FormatInt(id, 10)
	}
	if len(ids) == 1 {
		return " of job " + words[0]
	}
	return " of jobs " + units.Few(words)
}

var itemColumns = []output.Column[api.Item]{
	{Name: "number", Right: true},
	{Name: "name"},
	{Name: "status", Status: true},
	{Name: "attempt", Right: true},
	{Name: "progress", Right: true, Number: percentText},
	{Name: "kind"},
	{Name: "host"},
	{Name: "exit", Text: func(i api.Item) string { return output.Exit(i.ExitCode, i.Signal) }},
	{Name: "wall", Right: true, Text: func(i api.Item) string { return wallText(i.StartedAt, i.FinishedAt) }},
	{Name: "cpu", Right: true, Member: "cpu_seconds", Number: output.Seconds},
	{Name: "peak_memory", Right: true, Number: output.KnownSize},
	{Name: "reason", Text: itemReason},
	{Name: "instance", Extra: true},
	{Name: "exit_code", Extra: true},
	{Name: "signal", Extra: true},
	{Name: "started_at", Extra: true},
	{Name: "finished_at", Extra: true},
}

var attemptColumns = []output.Column[api.Attempt]{
	{Name: "number", Right: true},
	{Name: "item"},
	{Name: "attempt", Right: true},
	{Name: "state", Status: true},
	{Name: "kind"},
	{Name: "host"},
	{Name: "instance"},
	{Name: "exit", Text: func(a api.Attempt) string { return output.Exit(a.ExitCode, a.Signal) }},
	{Name: "wall", Right: true, Text: func(a api.Attempt) string { return wallText(&a.StartedAt, a.FinishedAt) }},
	{Name: "cpu", Right: true, Member: "cpu_seconds", Number: output.Seconds},
	{Name: "peak_memory", Right: true, Number: output.KnownSize},
	{Name: "reason"},
	{Name: "overuse", Extra: true},
	{Name: "highlights", Extra: true, Text: func(a api.Attempt) string { return strings.Join(a.Highlights, " | ") }},
	{Name: "outputpaths", Extra: true},
}
