package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

type jobsOptions struct {
	list   output.ListOptions
	user   string
	states map[string]*bool
	limit  int
}

// stateGroups are Qube's words for several states.
var stateGroups = map[string][]string{
	"pending": {"pending"}, "running": {"running"}, "blocked": {"blocked"}, "suspended": {"suspended"},
	"complete": {"complete"}, "failed": {"failed"}, "killed": {"killed"}, "done": finished, "active": unfinished,
}

func newJobsCommand() *cobra.Command {
	o := jobsOptions{states: map[string]*bool{}}
	cmd := &cobra.Command{
		Use: "jobs [JOB…]", Short: "List your jobs, or the given ones, newest first",
		Example: `  qbjobs
  qbjobs -user all -running -failed
  qbjobs -long 12
  qbjobs -json 12`,
		RunE: func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	o.list.BindLong(cmd.Flags())
	cmd.Flags().StringVar(&o.user, "user", "", "list jobs of user `NAME`; all: of every user (default: yours)")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list at most the `N` newest jobs; 0: all")
	for _, state := range []string{"pending", "running", "blocked", "suspended", "complete", "failed", "killed", "done", "active"} {
		o.states[state] = cmd.Flags().Bool(state, false, "only jobs that are "+state)
	}
	return cmd
}

func (o *jobsOptions) run(cmd *cobra.Command, words []string) error {
	filter := jobFilter{user: o.user, own: o.user == "" && len(words) == 0, limit: o.limit}
	if o.user == "all" {
		filter.user = ""
	}
	for state, wanted := range o.states {
		if *wanted {
			filter.states = append(filter.states, stateGroups[state]...)
		}
	}
	for _, word := range words {
		id, err := jobID(word)
		if err != nil {
			return err
		}
		filter.ids = append(filter.ids, id)
	}
	l, err := output.NewLister(cmd.OutOrStdout(), o.list, jobColumns)
	if err != nil {
		return err
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	var me api.Ping
	if err := c.call(cmd.Context(), api.PingFarm, nil, nil, &me); err != nil {
		return err
	}
	if filter.own {
		filter.user, filter.own = me.User, false
	}
	if err := c.eachJob(cmd.Context(), filter, func(job api.Job) error { return l.Add(job) }); err != nil {
		return err
	}
	if err := l.End(); err != nil {
		return err
	}
	if !me.Leader {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: a supervisor on standby answers: why jobs wait and which orders are under way is known to a leader only\n", typedName(cmd))
	}
	if len(words) > 0 {
		return nil
	}
	for _, limit := range me.Limits {
		fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(limit.Text))
	}
	return nil
}

func jobID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		return 0, api.Errorf(api.KindUsage, "%q is no job id; ids are numbers from 1", output.Escape(word))
	}
	return id, nil
}

// jobFilter narrows a list of jobs.
type jobFilter struct {
	ids    []int64
	user   string // "": everybody's
	own    bool   // the caller's
	states []string
	limit  int
}

const jobsPage = 1000

// eachJob visits the jobs that pass the filter, newest first, page by page.
func (c *client) eachJob(ctx context.Context, f jobFilter, visit func(api.Job) error) error {
	if len(f.ids) > 0 {
		return c.namedJobs(ctx, f, visit)
	}
	params := api.Params{}
	if f.own {
		var me api.Ping
		if err := c.call(ctx, api.PingFarm, nil, nil, &me); err != nil {
			return err
		}
		f.user = me.User
	}
	if f.user != "" {
		params["user"] = f.user
	}
	if len(f.states) > 0 {
		params["status"] = strings.Join(f.states, ",")
	}
	params["limit"] = strconv.Itoa(jobsPage)
	for seen := 0; ; {
		var page []api.Job
		if err := c.call(ctx, api.ListJobs, params, nil, &page); err != nil {
			return err
		}
		for _, job := range page {
			if err := visit(job); err != nil {
				return err
			}
			if seen++; seen == f.limit {
				return nil
			}
		}
		if len(page) < jobsPage {
			return nil
		}
		params["before"] = strconv.FormatInt(page[len(page)-1].ID, 10)
	}
}

// namedJobs asks for each job by itself: an unknown id is then an error that names it.
func (c *client) namedJobs(ctx context.Context, f jobFilter, visit func(api.Job) error) error {
	wanted := map[string]bool{}
	for _, state := range f.states {
		wanted[state] = true
	}
	for _, id := range f.ids {
		var job api.Job
		if err := c.call(ctx, api.GetJob, jobParam(id), nil, &job); err != nil {
			return err
		}
		if (len(wanted) > 0 && !wanted[job.Status]) || (f.user != "" && f.user != job.User) {
			continue
		}
		if err := visit(job); err != nil {
			return err
		}
	}
	return nil
}
