package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
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
		Use: "items JOB…", Short: "List the items of jobs in agenda order", Args: wantArgs(1, -1, "job id"),
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
	var ids []int64
	for _, word := range words {
		id, err := jobID(word)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if o.attempts {
		return listOf(cmd, o.list, attemptColumns, func(c *client, add func(api.Attempt) error) error {
			return eachOf(ids, func(id int64) error { return c.eachAttempt(cmd.Context(), id, add) })
		})
	}
	filtered := false
	for _, wanted := range o.states {
		filtered = filtered || *wanted
	}
	return listOf(cmd, o.list, itemColumns, func(c *client, add func(api.Item) error) error {
		return eachOf(ids, func(id int64) error {
			return c.eachItem(cmd.Context(), id, func(item api.Item) error {
				if wanted := o.states[item.Status]; filtered && (wanted == nil || !*wanted) {
					return nil
				}
				return add(item)
			})
		})
	})
}

// listOf prints what a source yields.
func listOf[T any](cmd *cobra.Command, o output.ListOptions, columns []output.Column[T], source func(*client, func(T) error) error) error {
	l, err := output.NewLister(cmd.OutOrStdout(), o, columns)
	if err != nil {
		return err
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	if err := source(c, func(row T) error { return l.Add(row) }); err != nil {
		return err
	}
	return l.End()
}

func eachOf(ids []int64, do func(int64) error) error {
	for _, id := range ids {
		if err := do(id); err != nil {
			return err
		}
	}
	return nil
}

// eachItem visits a job's items in agenda order, page by page.
func (c *client) eachItem(ctx context.Context, job int64, visit func(api.Item) error) error {
	params := jobParam(job)
	for {
		var page []api.Item
		if err := c.call(ctx, api.ListItems, params, nil, &page); err != nil || len(page) == 0 {
			return err
		}
		for _, item := range page {
			if err := visit(item); err != nil {
				return err
			}
		}
		params["after"] = strconv.Itoa(page[len(page)-1].Number)
	}
}

// eachAttempt visits a job's attempts by item and number, page by page.
func (c *client) eachAttempt(ctx context.Context, job int64, visit func(api.Attempt) error) error {
	params := jobParam(job)
	for {
		var page []api.Attempt
		if err := c.call(ctx, api.Attempts, params, nil, &page); err != nil || len(page) == 0 {
			return err
		}
		for _, attempt := range page {
			if err := visit(attempt); err != nil {
				return err
			}
		}
		last := page[len(page)-1]
		params["after"] = fmt.Sprintf("%d.%d", last.Number, last.Attempt)
	}
}

var itemColumns = []output.Column[api.Item]{
	{Name: "number", Right: true, Text: func(i api.Item) string { return strconv.Itoa(i.Number) }},
	{Name: "name", Text: func(i api.Item) string { return i.Name }},
	{Name: "status", Text: func(i api.Item) string { return i.Status }, Style: func(i api.Item) lipgloss.Style { return output.StatusStyle(i.Status) }},
	{Name: "attempt", Right: true, Text: func(i api.Item) string { return strconv.Itoa(i.Attempt) }},
	{Name: "kind", Text: func(i api.Item) string { return i.Kind }},
	{Name: "host", Text: func(i api.Item) string { return word(i.Host) }},
	{Name: "exit", Text: func(i api.Item) string { return exitText(i.ExitCode, i.Signal) }},
	{Name: "wall", Right: true, Text: func(i api.Item) string { return wallText(i.StartedAt, i.FinishedAt) }},
	{Name: "cpu", Right: true, Text: func(i api.Item) string { return secondsText(i.CPUSeconds) }},
	{Name: "peak_memory", Right: true, Text: func(i api.Item) string { return memoryText(i.PeakMemory) }},
	{Name: "reason", Text: func(i api.Item) string { return i.Reason }},
	{Name: "instance", Extra: true, Text: func(i api.Item) string { return word(i.Instance) }},
	{Name: "exit_code", Extra: true, Text: func(i api.Item) string { return number(i.ExitCode) }},
	{Name: "signal", Extra: true, Text: func(i api.Item) string { return number(i.Signal) }},
	{Name: "started_at", Extra: true, Text: func(i api.Item) string { return output.Moment(i.StartedAt) }},
	{Name: "finished_at", Extra: true, Text: func(i api.Item) string { return output.Moment(i.FinishedAt) }},
}

var attemptColumns = []output.Column[api.Attempt]{
	{Name: "number", Right: true, Text: func(a api.Attempt) string { return strconv.Itoa(a.Number) }},
	{Name: "item", Text: func(a api.Attempt) string { return a.Item }},
	{Name: "attempt", Right: true, Text: func(a api.Attempt) string { return strconv.Itoa(a.Attempt) }},
	{Name: "state", Text: func(a api.Attempt) string { return a.State }, Style: func(a api.Attempt) lipgloss.Style { return output.StatusStyle(a.State) }},
	{Name: "kind", Text: func(a api.Attempt) string { return a.Kind }},
	{Name: "host", Text: func(a api.Attempt) string { return a.Host }},
	{Name: "instance", Text: func(a api.Attempt) string { return a.Instance }},
	{Name: "exit", Text: func(a api.Attempt) string { return exitText(a.ExitCode, a.Signal) }},
	{Name: "wall", Right: true, Text: func(a api.Attempt) string { return wallText(&a.StartedAt, a.FinishedAt) }},
	{Name: "cpu", Right: true, Text: func(a api.Attempt) string { return secondsText(a.CPUSeconds) }},
	{Name: "peak_memory", Right: true, Text: func(a api.Attempt) string { return memoryText(a.PeakMemory) }},
	{Name: "reason", Text: func(a api.Attempt) string { return a.Reason }},
	{Name: "overuse", Extra: true, Text: func(a api.Attempt) string { return a.Overuse }},
}

func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// exitText writes an exit code or a signal.
func exitText(code, signal *int) string {
	if signal != nil {
		return "signal " + strconv.Itoa(*signal)
	}
	return number(code)
}

func wallText(start, end *time.Time) string {
	if start == nil {
		return ""
	}
	if end == nil {
		return output.Span(time.Since(*start))
	}
	return output.Span(end.Sub(*start))
}

func secondsText(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return output.Span(time.Duration(seconds * float64(time.Second)))
}

func memoryText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return facts.Size(bytes)
}
