package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
)

type modifyOptions struct {
	req      api.ModifyRequest
	priority int
	cpus     int
	retry    int
	maxCPUs  widthValue
	text     map[string]*string
	tags     *facts.Tags
}

func newModifyCommand() *cobra.Command {
	o := modifyOptions{text: map[string]*string{}}
	cmd := &cobra.Command{
		Use: "modify JOB…|0", Short: "Change unfinished jobs; 0 means all of yours",
		Example: `  qbmodify -mmax_cpus 80 12
  qbmodify -mpriority 3 -mname hero 12 13`,
		Args: wantArgs(1, -1, "job id"),
		RunE: func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.priority, "mpriority", 0, "new priority `N`; 1 is the best")
	f.IntVar(&o.cpus, "mcpus", 0, "new number `N` of primary instances")
	f.Var(&o.maxCPUs, "mmax_cpus", "new limit `N` of instances, secondary ones included; \"*\": supervisor_max_cpus_limit; 0: no secondary ones")
	f.IntVar(&o.retry, "mretrywork", 0, "retry a failed item up to `N` times")
	for _, option := range [][2]string{
		{"mname", "new name `NAME`"}, {"mcluster", "new cluster `PATH`"},
		{"mrequirements", "new requirements `EXPR`"}, {"mreservations", "new reservations `LIST`"},
		{"mrestrictions", "run only on hosts of clusters that match `EXPR`; empty: all"}, {"mhostorder", "new preferred order of hosts: `LIST`"},
		{"mhosts", "run only on hosts `A,B`; empty: all"}, {"momithosts", "do not run on hosts `A,B`; empty: none"},
		{"mgroups", "run only on hosts of groups `A,B`; empty: all"}, {"momitgroups", "do not run on hosts of groups `A,B`; empty: none"},
		{"maccount", "new account `PATH` to charge; only before the first item has started"},
	} {
		o.text[option[0]] = f.String(option[0], "", option[1])
	}
	o.tags = tagFlags(f, "m", "new `TAG` for reports, past work included; empty: none; see qbstats -by ")
	bindRepeat(cmd)
	return cmd
}

func (o *modifyOptions) run(cmd *cobra.Command, words []string) error {
	set := cmd.Flags().Changed
	anything := false
	for name, target := range map[string]**int{
		"mpriority": &o.req.Priority, "mcpus": &o.req.CPUs, "mretrywork": &o.req.RetryWork,
	} {
		if n, _ := cmd.Flags().GetInt(name); set(name) {
			*target, anything = &n, true
		}
	}
	if set("mmax_cpus") {
		o.req.MaxCPUs, anything = o.maxCPUs.pointer(), true
	}
	for name, target := range map[string]**string{
		"mname": &o.req.Name, "mcluster": &o.req.Cluster, "mrequirements": &o.req.Requirements,
		"mreservations": &o.req.Reservations, "mhosts": &o.req.Hosts,
		"mrestrictions": &o.req.Restrictions, "mhostorder": &o.req.HostOrder,
		"momithosts": &o.req.OmitHosts, "mgroups": &o.req.Groups, "momitgroups": &o.req.OmitGroups, "maccount": &o.req.Account,
	} {
		if set(name) {
			*target, anything = o.text[name], true
		}
	}
	for n, name := range facts.TagNames {
		if set("m" + name) {
			if o.req.Tags == nil {
				o.req.Tags = map[string]string{}
			}
			o.req.Tags[name], anything = o.tags[n], true
		}
	}
	if !anything {
		return api.Errorf(api.KindUsage, "nothing to change; give an option such as -mpriority 5 (%s -h lists all)", cmd.CommandPath())
	}
	return eachJob(cmd, words, unfinished, func(c *client, t target) (int, error) {
		if t.items != "" {
			return 0, api.Errorf(api.KindUsage, "%s: only whole jobs can be modified; give the id %d", output.Escape(t.word), t.job)
		}
		var reply api.SubmitReply
		if err := c.change(cmd.Context(), t.word, api.Modify, jobParam(t.job), o.req, &reply); err != nil {
			return 0, err
		}
		fmt.Fprintln(cmd.OutOrStdout(), t.job)
		remark(cmd, reply.Remarks)
		return 1, nil
	})
}
