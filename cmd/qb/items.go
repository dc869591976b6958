package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/jobtext"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
	"qb/units"
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
		return listOf(cmd, "no item"+ofJobs(ids)+" has run yet, so there are no attempts", o.list, attemptColumns, func(c *client, add func(...api.Attempt) error) error {
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
				return add(slices.DeleteFunc(items, func(i api.Item) bool { return len(wanted) > 0 && !slices.Contains(wanted, i.Status) })...)
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

// listOf prints what a source yields; none says what there is none of.
func listOf[T any](cmd *cobra.Command, none string, o output.ListOptions, columns []output.Column[T], source func(*client, func(...T) error) error) error {
	l, err := output.NewLister(cmd, none, o, columns)
	if err != nil {
		return err
	}
	c := connect(cmd)
	if err := source(c, l.Add); err != nil {
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

// pages is a list of an endpoint that comes in pages.
type pages[T any] struct {
	endpoint api.Endpoint
	params   api.Params
	size     int                            // of a page; 0: what the supervisor takes
	most     int                            // rows; 0: all
	next     func(last T) (name, at string) // the parameter of the page behind a row
}

// each visits the pages one after the other. Visit may change the rows that it is given.
func (p pages[T]) each(ctx context.Context, c *client, visit func(...T) error) error {
	for left := p.most; ; {
		if p.most > 0 {
			p.size = min(p.size, left)
		}
		if p.size > 0 {
			p.params["limit"] = strconv.Itoa(p.size)
		}
		var page []T
		if err := c.Send(ctx, p.endpoint, p.params, nil, &page); err != nil || len(page) == 0 {
			return err
		}
		left -= len(page)
		name, at := p.next(page[len(page)-1])
		p.params[name] = at
		if err := visit(page...); err != nil || len(page) < p.size || p.most > 0 && left <= 0 {
			return err
		}
	}
}

// eachItem visits a job's items in agenda order.
func (c *client) eachItem(ctx context.Context, job int64, visit func(...api.Item) error) error {
	return pages[api.Item]{endpoint: api.ListItems, params: jobParam(job), next: func(last api.Item) (name, at string) {
		return "after", strconv.Itoa(last.Number)
	}}.each(ctx, c, visit)
}

// eachAttempt visits a job's attempts by item and number.
func (c *client) eachAttempt(ctx context.Context, job int64, visit func(...api.Attempt) error) error {
	return pages[api.Attempt]{endpoint: api.Attempts, params: jobParam(job), next: func(last api.Attempt) (name, at string) {
		return "after", fmt.Sprintf("%d.%d", last.Number, last.Attempt)
	}}.each(ctx, c, visit)
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
	{Name: "reason", Text: jobtext.ItemReason},
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

func wallText(start, end *time.Time) string {
	if start == nil {
		return ""
	}
	if end == nil {
		return output.Span(time.Since(*start))
	}
	return output.Span(end.Sub(*start))
}
