package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/hostselect"
	"qb/cmd/qb/output"
	"qb/units"
)

func newHostsCommand() *cobra.Command {
	var list output.ListOptions
	var choice hostselect.Options
	cmd := &cobra.Command{
		Use: "hosts [HOST…]", Short: "List hosts by name, with their slots and memory",
		Example: "  qbhosts\n  qbhosts -down\n  qbhosts -active -resources 'host.memory.avail >= 16GiB' -sortby slots",
		RunE: func(cmd *cobra.Command, words []string) error {
			return listOf(cmd, list, hostColumns, func(c *client, add func(...api.Host) error) error {
				hosts, err := chosenHosts(cmd, c, words, &choice)
				if err != nil {
					return err
				}
				return add(hosts...)
			})
		},
	}
	list.BindLong(cmd.Flags())
	choice.Bind(cmd.Flags())
	return cmd
}

// chosenHosts are the hosts with these names, or all, that pass the options.
func chosenHosts(cmd *cobra.Command, c *client, names []string, choice *hostselect.Options) ([]api.Host, error) {
	passes, err := choice.Filter()
	if err != nil {
		return nil, err
	}
	var hosts []api.Host
	if err := c.call(cmd.Context(), api.ListHosts, nil, nil, &hosts); err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(hosts, func(h api.Host) bool { return h.Name == name }) {
			return nil, api.Errorf(api.KindNotFound, "host %q is not known; qbhosts lists all", output.Escape(name))
		}
	}
	return slices.DeleteFunc(hosts, func(h api.Host) bool {
		return len(names) > 0 && !slices.Contains(names, h.Name) || !passes(h)
	}), nil
}

var hostColumns = []output.Column[api.Host]{
	{Name: "name"},
	{Name: "state", Status: true},
	{Name: "slots", Right: true, Text: func(h api.Host) string { return fmt.Sprintf("%d/%d", h.Slots.Used, h.Slots.Total) }},
	{Name: "memory", Right: true, Text: func(h api.Host) string {
		return units.Size(h.Memory.Available) + " of " + units.Size(h.Memory.Total)
	}},
	{Name: "promised", Right: true, Member: "memory.promised", Number: output.Size},
	{Name: "per_idle", Right: true, Member: "memory.per_idle", Number: output.Size},
	{Name: "swap", Extra: true, Text: output.SwapOf},
	{Name: "foreign", Extra: true, Right: true, Member: "slots.foreign"},
	{Name: "cluster"},
	{Name: "groups"},
	{Name: "jobs", Text: func(h api.Host) string { return output.JobsOn(h) }},
	{Name: "last_seen_at", Extra: true},
	{Name: "locked", Extra: true},
	{Name: "properties", Extra: true, Text: func(h api.Host) string { return pairs(h.Properties) }},
	{Name: "machine", Extra: true, Member: "machine_id"},
	{Name: "remark", Text: output.HostRemark},
	{Name: "resources", Extra: true, Text: func(h api.Host) string { return pairs(h.Resources) }},
}

func pairs[V any](m map[string]V) string {
	var words []string
	for name, value := range m {
		words = append(words, fmt.Sprintf("%s=%v", name, value))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// newLockCommand makes `qb lock` or `qb unlock`.
func newLockCommand(lock bool) *cobra.Command {
	name, short, endpoint := "unlock", "Unlock hosts: they get new items again", api.UnlockHost
	if lock {
		name, short, endpoint = "lock", "Lock hosts: they get no new items; running items continue", api.LockHost
	}
	var choice hostselect.Options
	var results output.Results
	var all bool
	each := func(cmd *cobra.Command, hosts []string) error {
		return results.Flush(cmd.OutOrStdout(), eachHost(cmd, &results, endpoint, hosts, name, name+"ed"))
	}
	cmd := &cobra.Command{
		Use: name + " [HOST…]", Short: short, Long: short + ".\nOptions choose among the hosts named, or among all.",
		Example: "  qb" + name + " rn01 rn02\n  qb" + name + " -cluster '/show*' -active",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			if err := results.Check(); err != nil {
				return err
			}
			switch {
			case all && len(hosts) > 0:
				return api.Errorf(api.KindUsage, "-all stands for every host; do not name others beside it")
			case !all && !choice.Given():
				if err := commandline.WantArgs(1, -1, "host")(cmd, hosts); err != nil {
					return err
				}
				return each(cmd, hosts)
			}
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			chosen, err := chosenHosts(cmd, c, hosts, &choice)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				return api.Errorf(api.KindConflict, "nothing affected: no host passes the options; qbhosts with the same shows which do")
			}
			hosts = nil
			for _, h := range chosen {
				hosts = append(hosts, h.Name)
			}
			return each(cmd, hosts)
		},
	}
	choice.Bind(cmd.Flags())
	results.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, name+" every host")
	bindRepeat(cmd)
	return cmd
}

func eachHost(cmd *cobra.Command, results *output.Results, endpoint api.Endpoint, hosts []string, name, done string) error {
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	affected := 0
	for _, host := range hosts {
		var reply api.HostReply
		if err := c.Change(cmd.Context(), host, endpoint, api.Params{"host": host}, nil, &reply); err != nil {
			return err
		}
		if reply.Affected > 0 {
			if err := results.Add(cmd.OutOrStdout(), output.Result{Host: host, Action: name, Affected: 1}, output.Escape(host)+": "+done); err != nil {
				return err
			}
		}
		affected += reply.Affected
	}
	if affected == 0 {
		return api.Errorf(api.KindConflict, "nothing affected: %s already %s", output.Escape(strings.Join(hosts, ", ")), done)
	}
	return nil
}
