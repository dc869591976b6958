package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
)

// jobFilter narrows a list of jobs.
type jobFilter struct {
	ids    []int64
	user   string // "": everybody's
	own    bool   // the caller's
	states []string
	limit  int

	expression    string    // "": none
	finishedSince time.Time // not the ones that ended before it; zero: all
}

// chosenBy is the filter of options; without a user it can take the caller's own jobs.
func chosenBy(o *jobChoice, own bool) jobFilter {
	return jobFilter{user: o.Plain(), own: o.User == "me" || o.User == "" &&
		own, states: o.States(), expression: o.Expression()}
}

// params are the filter as a list of jobs takes it.
func (f *jobFilter) params() api.Params {
	params := api.Params{"user": f.user, "status": strings.Join(f.states, ","), "expression": f.expression}
	if !f.finishedSince.IsZero() {
		params["finished_since"] = f.finishedSince.UTC().Format(time.RFC3339)
	}
	return params
}

// countJobs is how many jobs pass the filter, as far as the supervisor counts.
func (c *client) countJobs(ctx context.Context, f jobFilter) (int, error) {
	params := f.params()
	params["total"], params["limit"] = "true", "1"
	page := api.Page{Body: new([]api.Job)}
	if err := c.Send(ctx, api.ListJobs, params, nil, &page); err != nil {
		return 0, err
	}
	return strconv.Atoi(page.Header.Get("Total-Count"))
}

const jobsPage = 1000

// eachJob visits the jobs that pass the filter, newest first.
func (c *client) eachJob(ctx context.Context, f jobFilter, visit func(...api.Job) error) error {
	if len(f.ids) > 0 {
		return c.namedJobs(ctx, f, visit)
	}
	if f.own {
		me, err := c.ping()
		if err != nil {
			return err
		}
		f.user = me.User
	}
	return pages[api.Job]{endpoint: api.ListJobs, params: f.params(), size: jobsPage, most: f.limit,
		next: func(last api.Job) (name, at string) {
			return "before", strconv.FormatInt(last.ID, 10)
		}}.each(ctx, c, visit)
}

// everybodysUnfinished are all unfinished jobs of the farm, newest first.
func everybodysUnfinished(cmd *cobra.Command) (all []api.Job, err error) {
	c := connect(cmd)
	err = c.eachJob(cmd.Context(), jobFilter{states: unfinishedStates}, func(jobs ...api.Job) error {
		all = append(all, jobs...)
		return nil
	})
	return all, err
}

// namedJobs asks for each job by itself: an unknown id is then an error that names it.
func (c *client) namedJobs(ctx context.Context, f jobFilter, visit func(...api.Job) error) error {
	return eachOf(f.ids, func(id int64) error {
		job, err := call[api.Job](ctx, c, api.GetJob, jobParam(id), nil)
		if err != nil || len(f.states) > 0 && !slices.Contains(f.states, job.Status) || f.user != "" && f.user != job.User {
			return err
		}
		if f.expression != "" {
			params := f.params()
			params["ids"] = strconv.FormatInt(id, 10)
			if passing, err := call[[]api.Job](ctx, c, api.ListJobs, params, nil); err != nil || len(passing) == 0 {
				return err
			}
		}
		return visit(job)
	})
}
