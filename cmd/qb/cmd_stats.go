package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// statsOptions are what a report is asked for.
type statsOptions struct {
	list                                       output.ListOptions
	csv                                        bool
	by, from, to, user, account, cluster, host string
	limit                                      int
	tags                                       facts.Tags
}

// newStatsCommand is qb stats.
func newStatsCommand() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use: "stats", Short: "Report usage: slot-hours, CPU-hours, memory-hours, preempted, killed and failed work",
		Long: "Report what ended attempts used, by default in the last 30 days. The whole attempt counts on the UTC day of its\n" +
			"end. Secondary, preempted, killed and failed (lost included) are fractions of the slot-hours.",
		Args:    commandline.WantArgs(0, 0, ""),
		Example: "  qbstats\n  qbstats -by account,day -from 2026-09-01 -to 2026-09-30\n  qbstats -by host -user ada -csv",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.list.Bind(cmd.Flags())
	f := cmd.Flags()
	f.BoolVar(&o.csv, "csv", false, "print comma-separated values with full precision")
	f.StringVar(&o.by, "by", "user", "group by `LIST`: day, user, account, cluster, host, kind, class (of hosts), or tags such as prod_show; \"\": one total line")
	f.StringVar(&o.from, "from", "", "first UTC `DAY`, such as 2026-09-01")
	f.StringVar(&o.to, "to", "", "last UTC `DAY` (default: today)")
	f.StringVar(&o.user, "user", "", "only work of `USER`")
	f.StringVar(&o.account, "account", "", "only account `PATH` and those below it")
	f.StringVar(&o.cluster, "cluster", "", "only jobs of cluster `PATH` and those below it")
	f.StringVar(&o.host, "host", "", "only work on `HOST`")
	for n, name := range facts.TagNames {
		f.StringVar(&o.tags[n], name, "", "only jobs with `TAG` as their "+name)
	}
	f.IntVar(&o.limit, "limit", 1000, "at most `N` rows, up to 9999")
	return cmd
}

func (o *statsOptions) run(cmd *cobra.Command) error {
	if err := o.list.Exclusive("-csv", o.csv); err != nil {
		return err
	}
	columns := statsColumns(strings.Split(o.by, ","))
	l, err := output.NewLister(cmd,
		"no attempt ended in the days and with the values asked for; without options, all of the last days count", o.list,
		columns)
	if err != nil {
		return err
	}
	params := api.Params{"limit": strconv.Itoa(o.limit), "by": o.by, "from": o.from, "to": o.to, "user": o.user,
		"account": o.account,
		"cluster": o.cluster, "host": o.host}
	maps.Copy(params, o.tags.Map())
	got, err := ask[api.Stats](cmd, api.GetStats, params, nil)
	if err != nil {
		return err
	}
	if got.More {
		fmt.Fprintf(cmd.ErrOrStderr(), "qb: only the first %d rows; ask for fewer days, a coarser -by or a larger -limit\n",
			len(got.Rows))
	}
	if o.csv {
		return l.CSV(got.Rows)
	}
	if err := l.Add(got.Rows...); err != nil {
		return err
	}
	return l.End()
}

// statsColumns shows only the groupings by which the report is divided.
func statsColumns(by []string) []output.Column[api.StatsRow] {
	groups := []output.Column[api.StatsRow]{
		{Name: "day"},
		{Name: "user"},
		{Name: "account"},
		{Name: "cluster"},
		{Name: "host"},
		{Name: "kind"},
		{Name: "class"},
	}
	for _, name := range facts.TagNames {
		groups = append(groups, output.Column[api.StatsRow]{Name: name, Member: "tags." + name})
	}
	groups = slices.DeleteFunc(groups, func(c output.Column[api.StatsRow]) bool { return !slices.Contains(by, c.Name) })
	hours := output.Formatted("%.2f")
	return append(groups, []output.Column[api.StatsRow]{
		{Name: "attempts", Right: true},
		{Name: "slot_hours", Right: true, Number: hours},
		{Name: "cpu_hours", Right: true, Number: hours},
		{Name: "memory_gib_hours", Right: true, Number: hours},
		{Name: "secondary", Right: true, Number: output.Percent},
		{Name: "preempted", Right: true, Number: output.Percent},
		{Name: "killed", Right: true, Number: output.Percent},
		{Name: "failed", Right: true, Number: output.Percent},
		{Name: "charged_hours", Right: true, Number: hours},
	}...)
}
