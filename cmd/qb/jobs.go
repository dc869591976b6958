package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"qb/api"
)

type jobsOptions struct {
	list   listOptions
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
		Use: "jobs [JOB…]", Short: "List jobs, newest first: yours, or those named",
		Example: `  qbjobs
  qbjobs -user all -running -failed
  qbjobs -json 12`,
		RunE: func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	o.list.bind(cmd)
	cmd.Flags().StringVar(&o.user, "user", "", "`NAME` whose jobs; all: everybody's (else your own)")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "`N` newest jobs at most (else all)")
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
	l, err := newLister(cmd.OutOrStdout(), o.list, jobColumns)
	if err != nil {
		return err
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	if err := c.eachJob(cmd.Context(), filter, func(job api.Job) error { return l.add(job) }); err != nil {
		return err
	}
	return l.end()
}

func jobID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		return 0, api.Errorf(api.KindUsage, "%q is no job id; ids are numbers from 1", escape(word))
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

var jobColumns = []column[api.Job]{
	{name: "id", right: true, text: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
	{name: "status", text: func(j api.Job) string { return j.Status }, style: func(j api.Job) lipgloss.Style { return statusStyle(j.Status) }},
	{name: "user", text: func(j api.Job) string { return j.User }},
	{name: "name", text: func(j api.Job) string { return j.Name }},
	{name: "priority", right: true, text: func(j api.Job) string { return strconv.Itoa(j.Priority) }},
	{name: "cpus", right: true, text: func(j api.Job) string { return strconv.Itoa(j.CPUs) }},
	{name: "max_cpus", right: true, text: func(j api.Job) string { return widthText(j.MaxCPUs) }},
	{name: "running", right: true, text: func(j api.Job) string { return runningText(j.Instances) }},
	{name: "done", right: true, text: func(j api.Job) string { return fmt.Sprintf("%d/%d", j.Items.Complete, j.Items.Total) }},
	{name: "failed", right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Failed) }},
	{name: "reason", text: func(j api.Job) string { return j.Reason }},
	{name: "cluster", extra: true, text: func(j api.Job) string { return j.Cluster }},
	{name: "account", extra: true, text: func(j api.Job) string { return j.Account }},
	{name: "type", extra: true, text: func(j api.Job) string { return j.Type }},
	{name: "range", extra: true, text: func(j api.Job) string { return j.Range }},
	{name: "max_cpus_effective", extra: true, text: func(j api.Job) string { return strconv.Itoa(j.MaxCPUsEffective) }},
	{name: "primary", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Primary) }},
	{name: "secondary", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Secondary) }},
	{name: "draining", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Instances.Draining) }},
	{name: "items", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Total) }},
	{name: "pending", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Pending) }},
	{name: "complete", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Complete) }},
	{name: "killed", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Killed) }},
	{name: "blocked", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.Items.Blocked) }},
	{name: "submitted_at", extra: true, text: func(j api.Job) string { return moment(&j.SubmittedAt) }},
	{name: "started_at", extra: true, text: func(j api.Job) string { return moment(j.StartedAt) }},
	{name: "finished_at", extra: true, text: func(j api.Job) string { return moment(j.FinishedAt) }},
	{name: "retrywork", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.RetryWork) }},
	{name: "need", extra: true, right: true, text: func(j api.Job) string { return memoryText(j.Memory.Need) }},
	{name: "requested", extra: true, right: true, text: func(j api.Job) string {
		if j.Memory.Requested == nil {
			return ""
		}
		return memoryText(*j.Memory.Requested)
	}},
	{name: "largest_peak", extra: true, right: true, text: func(j api.Job) string { return memoryText(j.Memory.LargestPeak) }},
	{name: "timelimit", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.TimeLimit) }},
	{name: "agendatimelimit", extra: true, right: true, text: func(j api.Job) string { return strconv.Itoa(j.AgendaTimeLimit) }},
	{name: "pgrp", extra: true, right: true, text: func(j api.Job) string { return strconv.FormatInt(j.PGrp, 10) }},
	{name: "hosts", extra: true, text: func(j api.Job) string { return strings.Join(j.Hosts, ",") }},
	{name: "omithosts", extra: true, text: func(j api.Job) string { return strings.Join(j.OmitHosts, ",") }},
	{name: "groups", extra: true, text: func(j api.Job) string { return strings.Join(j.Groups, ",") }},
	{name: "omitgroups", extra: true, text: func(j api.Job) string { return strings.Join(j.OmitGroups, ",") }},
	{name: "requirements", extra: true, text: func(j api.Job) string { return j.Requirements }},
	{name: "reservations", extra: true, text: func(j api.Job) string { return j.Reservations }},
	{name: "restrictions", extra: true, text: func(j api.Job) string { return j.Restrictions }},
	{name: "hostorder", extra: true, text: func(j api.Job) string { return j.HostOrder }},
	{name: "flags", extra: true, text: func(j api.Job) string { return strings.Join(j.Flags, ",") }},
	{name: "dependency", extra: true, text: func(j api.Job) string { return j.Dependency }},
	{name: "cwd", extra: true, text: func(j api.Job) string { return j.Cwd }},
	{name: "command", extra: true, text: func(j api.Job) string { return strings.Join(j.Command, " ") }},
}

// widthText writes a max_cpus as it was given.
func widthText(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n < 0:
		return "*"
	}
	return strconv.Itoa(*n)
}

// runningText is primaries + secondaries, and what is leaving.
func runningText(n api.InstanceCounts) string {
	text := fmt.Sprintf("%d+%d", n.Primary, n.Secondary)
	if n.Draining > 0 {
		text += fmt.Sprintf("-%d", n.Draining)
	}
	return text
}
