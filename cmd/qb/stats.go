package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/supervisor/facts"
)

// statsOptions are what a report is asked for.
type statsOptions struct {
	list                                       listOptions
	csv                                        bool
	by, from, to, user, account, cluster, host string
	limit                                      int
	tags                                       *facts.Tags
}

func newStatsCommand() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use: "stats", Short: "Report usage: slot-hours, CPU-hours, memory-hours, preempted and failed work",
		Long: "Report what ended attempts used, by default in the last 30 days. The whole attempt counts on the UTC day of its\n" +
			"end. Preempted, failed (killed and lost included) and secondary are fractions of the slot-hours.",
		Args:    wantArgs(0, 0, ""),
		Example: "  qbstats\n  qbstats -by account,day -from 2026-09-01 -to 2026-09-30\n  qbstats -by host -user ada -csv",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.list.bind(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.csv, "csv", false, "print comma-separated values with full precision")
	f.StringVar(&o.by, "by", "user", "group by `LIST`: day, user, account, cluster, host, kind, class (of hosts), or tags such as prod_show; \"\": one total line")
	f.StringVar(&o.from, "from", "", "first UTC `DAY`, such as 2026-09-01")
	f.StringVar(&o.to, "to", "", "last UTC `DAY` (default: today)")
	f.StringVar(&o.user, "user", "", "only work of `USER`")
	f.StringVar(&o.account, "account", "", "only account `PATH` and those below it")
	f.StringVar(&o.cluster, "cluster", "", "only jobs of cluster `PATH` and those below it")
	f.StringVar(&o.host, "host", "", "only work on `HOST`")
	o.tags = tagFlags(f, "", "only jobs with `TAG` as their ")
	f.IntVar(&o.limit, "limit", 1000, "at most `N` rows, up to 9999")
	return cmd
}

func (o *statsOptions) run(cmd *cobra.Command) error {
	if o.csv && o.list.json {
		return api.Errorf(api.KindUsage, "-csv and -json exclude each other; give one")
	}
	columns := statsColumns(strings.Split(o.by, ","))
	l, err := newLister(cmd.OutOrStdout(), o.list, columns)
	if err != nil {
		return err
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	params := api.Params{"limit": strconv.Itoa(o.limit)}
	for name, value := range map[string]string{"by": o.by, "from": o.from, "to": o.to, "user": o.user, "account": o.account,
		"cluster": o.cluster, "host": o.host} {
		if value != "" {
			params[name] = value
		}
	}
	for name, value := range o.tags.Map() {
		params[name] = value
	}
	var got api.Stats
	if err := c.call(cmd.Context(), api.GetStats, params, nil, &got); err != nil {
		return err
	}
	if got.More {
		fmt.Fprintf(cmd.ErrOrStderr(), "qb: only the first %d rows; ask for fewer days, a coarser -by or a larger -limit\n", len(got.Rows))
	}
	if o.csv {
		return writeCSV(cmd.OutOrStdout(), o.list, l.columns, got.Rows)
	}
	if err := l.add(got.Rows...); err != nil {
		return err
	}
	return l.end()
}

// statsColumns shows of the groupings those that the report is divided by.
func statsColumns(by []string) []column[api.StatsRow] {
	groups := []column[api.StatsRow]{
		{name: "day", text: func(r api.StatsRow) string { return r.Day }},
		{name: "user", text: func(r api.StatsRow) string { return r.User }},
		{name: "account", text: func(r api.StatsRow) string {
			if r.Account == nil {
				return ""
			}
			return *r.Account
		}},
		{name: "cluster", text: func(r api.StatsRow) string { return r.Cluster }},
		{name: "host", text: func(r api.StatsRow) string { return r.Host }},
		{name: "kind", text: func(r api.StatsRow) string { return r.Kind }},
		{name: "class", text: func(r api.StatsRow) string { return r.Class }},
	}
	for _, name := range facts.TagNames {
		groups = append(groups, column[api.StatsRow]{name: name, text: func(r api.StatsRow) string { return r.Tags[name] }})
	}
	groups = slices.DeleteFunc(groups, func(c column[api.StatsRow]) bool { return !slices.Contains(by, c.name) })
	hours := func(name string, of func(api.StatsRow) float64) column[api.StatsRow] {
		return column[api.StatsRow]{name: name, right: true, text: func(r api.StatsRow) string { return fmt.Sprintf("%.2f", of(r)) }}
	}
	part := func(name string, of func(api.StatsRow) float64) column[api.StatsRow] {
		return column[api.StatsRow]{name: name, right: true, text: func(r api.StatsRow) string { return percent(of(r)) }}
	}
	return append(groups,
		column[api.StatsRow]{name: "attempts", right: true, text: func(r api.StatsRow) string { return strconv.FormatInt(r.Attempts, 10) }},
		hours("slot_hours", func(r api.StatsRow) float64 { return r.Slots }),
		hours("cpu_hours", func(r api.StatsRow) float64 { return r.CPU }),
		hours("memory_gib_hours", func(r api.StatsRow) float64 { return r.Memory }),
		part("secondary", func(r api.StatsRow) float64 { return r.Secondary }),
		part("preempted", func(r api.StatsRow) float64 { return r.Preempted }),
		part("failed", func(r api.StatsRow) float64 { return r.Failed }),
		hours("charged_hours", func(r api.StatsRow) float64 { return r.Charged }),
	)
}

// writeCSV writes the members of the JSON form under the names of the columns, so that both have the same figures.
func writeCSV[T any](out io.Writer, o listOptions, columns []column[T], rows []T) error {
	w := csv.NewWriter(out)
	names := columnNames(columns)
	if !o.noHeaders {
		_ = w.Write(names) // a failed write is told by Error
	}
	for _, row := range rows {
		data, err := encodeJSON(row)
		if err != nil {
			return err
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
		if tags := members["tags"]; tags != nil { // each has a column of its own
			if err := json.Unmarshal(tags, &members); err != nil {
				return fmt.Errorf("writing CSV: %w", err)
			}
		}
		cells := make([]string, len(names))
		for i, name := range names {
			value := string(members[name])
			var text string
			if json.Unmarshal(members[name], &text) == nil {
				value = escape(text)
			}
			cells[i] = value
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}
