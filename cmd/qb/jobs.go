package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/jobselect"
	"qb/cmd/qb/jobtext"
	"qb/cmd/qb/output"
	"qb/cmd/qb/qube"
	"qb/cmd/qb/remote"
)

type jobsOptions struct {
	list   output.ListOptions
	choice jobselect.Options
	limit  int
	all    bool
	times  bool
	data   bool
}

func newJobsCommand() *cobra.Command {
	var o jobsOptions
	cmd := &cobra.Command{
		Use: "jobs [JOB…]", Short: "List your jobs, or the given ones",
		Long: `List your jobs, or the given ones. The table shows unfinished jobs and those that ended within a day;
-all, -limit, ids and states ask for others too, and -json, -xml, -delimit, -fields and -no-headers list every job.
Newest first; on a terminal the table has the newest last, above the prompt.`,
		Example: `  qbjobs
  qbjobs -user all -running -failed
  qbjobs -name 'comp*' -expression 'priority <= 100 && cpus > 4'
  qbjobs -long 12
  qbjobs -json 12
  qbjobs -delimit ';' -fields id,status,reason -sortby priority`,
		RunE: func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	o.list.BindLong(cmd.Flags())
	o.choice.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "show all jobs in the table, however long ago they ended")
	cmd.Flags().BoolVar(&o.times, "times", false, "show when jobs were submitted, started and finished, too")
	cmd.Flags().BoolVar(&o.data, "data", false, "show the command of jobs, too")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list at most the `N` newest jobs; 0: all")
	return cmd
}

func (o *jobsOptions) run(cmd *cobra.Command, words []string) error {
	filter := chosenBy(&o.choice, len(words) == 0)
	filter.limit = o.limit
	ids, err := jobIDs(words)
	if err != nil {
		return err
	}
	filter.ids, o.list.Others = ids, qube.Fields
	table := o.list.ForPeople() && len(words) == 0
	l, err := output.NewLister(cmd, o.none(filter, table), o.list, o.columns())
	if err != nil {
		return err
	}
	l.Total(jobtext.Total)
	c := connect(cmd)
	me, err := c.ping()
	if err != nil {
		return err
	}
	if filter.own {
		filter.user, filter.own = me.User, false
	}
	if err := o.show(cmd, c, l, filter, table, me.Now); err != nil {
		return err
	}
	if !me.Leader {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: a supervisor on standby answers: why jobs wait and which orders are under way is known to a leader only\n", commandline.TypedName(cmd))
	}
	if len(words) > 0 {
		return nil
	}
	for _, limit := range me.Limits {
		fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(limit.Text))
	}
	return nil
}

// none says that there are no such jobs; of a table, a line that counts them does.
func (o *jobsOptions) none(filter jobFilter, table bool) string {
	user := filter.user
	if filter.own {
		user = "yours"
	}
	switch {
	case table:
		return ""
	case filter.expression != "":
		return "no job passes " + filter.expression
	}
	return jobtext.Shown(0, 0, user, o.choice.StateWords())
}

// columns are those of jobs, with what is asked for beside the usual ones.
func (o *jobsOptions) columns() []output.Column[api.Job] {
	columns := slices.Clone(jobColumns)
	for i, c := range columns {
		switch c.Name {
		case "submitted_at", "started_at", "finished_at":
			columns[i].Extra = !o.times
		case "command":
			columns[i].Extra = !o.data
		}
	}
	return columns
}

// show lists the jobs. In a table without ids, old ones may be left out, and a line says so.
func (o *jobsOptions) show(cmd *cobra.Command, c *client, l *output.Lister[api.Job], filter jobFilter, table bool, now time.Time) error {
	states := o.choice.StateWords()
	if table && !o.all && len(states) == 0 && filter.expression == "" && o.limit == 0 {
		filter.finishedSince = jobtext.ShownSince(now)
	}
	newestLast := table && output.IsTerminal(cmd.OutOrStdout())
	var held []api.Job
	shown := 0
	err := c.eachJob(cmd.Context(), filter, func(jobs ...api.Job) error {
		shown += len(jobs)
		if newestLast {
			held = append(held, jobs...)
			return nil
		}
		return l.Add(jobs...)
	})
	if err != nil {
		return err
	}
	slices.Reverse(held)
	if err := errors.Join(l.Add(held...), l.End()); err != nil {
		return err
	}
	if !table {
		return nil
	}
	total := shown
	if !filter.finishedSince.IsZero() {
		filter.finishedSince = time.Time{}
		if total, err = c.countJobs(cmd.Context(), filter); err != nil {
			return err
		}
	}
	if shown == 0 && filter.expression != "" {
		return api.Errorf(api.KindConflict, "no job passes %s", output.Escape(filter.expression))
	}
	if text := jobtext.Shown(shown, total, filter.user, states); text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(text))
	}
	return nil
}

// jobIDs reads the id of a job of each word.
func jobIDs(words []string) (ids []int64, err error) {
	for _, word := range words {
		id, err := remote.JobID(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// jobFilter narrows a list of jobs.
type jobFilter struct {
	ids    []int64
	user   string // "": everybody's
	own    bool   // the caller's
	states []string
	limit  int

	expression    string    // "": none
	finishedSince time.Time // not those that ended before it; zero: all
}

// chosenBy is the filter of options; without a user it takes the caller's own jobs, if so told.
func chosenBy(o *jobselect.Options, own bool) jobFilter {
	return jobFilter{user: o.Plain(), own: o.User == "me" || o.User == "" && own, states: o.States(), expression: o.Expression()}
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
	return pages[api.Job]{endpoint: api.ListJobs, params: f.params(), size: jobsPage, most: f.limit, next: func(last api.Job) (name, at string) {
		return "before", strconv.FormatInt(last.ID, 10)
	}}.each(ctx, c, visit)
}

// everybodysUnfinished are all unfinished jobs of the farm, newest first.
func everybodysUnfinished(cmd *cobra.Command) (all []api.Job, err error) {
	c := connect(cmd)
	err = c.eachJob(cmd.Context(), jobFilter{states: jobselect.Unfinished}, func(jobs ...api.Job) error {
		all = append(all, jobs...)
		return nil
	})
	return all, err
}

// namedJobs asks for each job by itself: an unknown id is then an error that names it.
func (c *client) namedJobs(ctx context.Context, f jobFilter, visit func(...api.Job) error) error {
	return eachOf(f.ids, func(id int64) error {
		job, err := remote.Ask[api.Job](ctx, c, api.GetJob, jobParam(id), nil)
		if err != nil || len(f.states) > 0 && !slices.Contains(f.states, job.Status) || f.user != "" && f.user != job.User {
			return err
		}
		if f.expression != "" {
			params := f.params()
			params["ids"] = strconv.FormatInt(id, 10)
			if passing, err := remote.Ask[[]api.Job](ctx, c, api.ListJobs, params, nil); err != nil || len(passing) == 0 {
				return err
			}
		}
		return visit(job)
	})
}
