package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// listOf prints what a source yields; none says what there is none of.
func listOf[T any](cmd *cobra.Command, none string, o output.ListOptions, columns []output.Column[T],
	source func(*client, func(...T) error) error) error {
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
	return pages[api.Attempt]{endpoint: api.Attempts, params: jobParam(job),
		next: func(last api.Attempt) (name, at string) {
			return "after", fmt.Sprintf("%d.%d", last.Number, last.Attempt)
		}}.each(ctx, c, visit)
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

// listRows prints the rows of an endpoint; none says what there is none of.
func listRows[Row any](cmd *cobra.Command, none string, o output.ListOptions, columns []output.Column[Row],
	e api.Endpoint, params api.Params) error {
	return output.Print(cmd, none, o, columns, func() ([]Row, error) {
		return ask[[]Row](cmd, e, params, nil)
	})
}

// newListing is a command that prints all rows of an endpoint; none says what there is none of.
func newListing[Row any](use, short, none string, columns []output.Column[Row], e api.Endpoint) *cobra.Command {
	var o output.ListOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return listRows(cmd, none, o, columns, e, nil) },
	}
	o.Bind(cmd.Flags())
	return cmd
}
