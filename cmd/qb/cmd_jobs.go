package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/qube"
)

type jobsOptions struct {
	list   output.ListOptions
	choice jobChoice
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
	l.Total(totalOfJobs)
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
		fmt.Fprintf(cmd.ErrOrStderr(),
			"%s: a supervisor on standby answers: why jobs wait and which orders are under way is known to a leader only\n",
			commandline.TypedName(cmd))
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
	return shownText(0, 0, user, o.choice.StateWords())
}

// columns are the columns of the list: the usual ones, and the ones that the user asks for.
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
func (o *jobsOptions) show(cmd *cobra.Command, c *client, l *output.Lister[api.Job], filter jobFilter, table bool,
	now time.Time) error {
	states := o.choice.StateWords()
	if table && !o.all && len(states) == 0 && filter.expression == "" && o.limit == 0 {
		filter.finishedSince = shownSince(now)
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
	if text := shownText(shown, total, filter.user, states); text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(text))
	}
	return nil
}
