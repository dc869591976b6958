package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

func newHostsCommand() *cobra.Command {
	var list output.ListOptions
	var choice hostChoice
	cmd := &cobra.Command{
		Use: "hosts [HOST…]", Short: "List hosts by name, with their slots and memory",
		Example: "  qbhosts\n  qbhosts -down\n  qbhosts -active -resources 'host.memory.avail >= 16GiB' -sortby slots",
		RunE: func(cmd *cobra.Command, words []string) error {
			return listOf(cmd, noHosts(words, &choice), list, hostColumns, func(c *client, add func(...api.Host) error) error {
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

// noHosts says that no host passes the options.
func noHosts(names []string, choice *hostChoice) string {
	which := "no host"
	if len(names) > 0 {
		which = "none of the hosts " + units.Few(names)
	}
	if choice.Given() {
		return which + " is " + choice.Text()
	}
	return "no host has joined the farm yet; qbadmin worker token prints the command that lets one join"
}

// chosenHosts are the hosts with these names, or all, that pass the options.
func chosenHosts(cmd *cobra.Command, c *client, names []string, choice *hostChoice) ([]api.Host, error) {
	var all, chosen []api.Host
	expression := choice.Expression()
	if expression == "" || len(names) > 0 {
		if err := c.Send(cmd.Context(), api.ListHosts, nil, nil, &all); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(h api.Host) bool { return h.Name == name }) {
			return nil, api.Errorf(api.KindNotFound, "host %q is not known; qbhosts lists all", name)
		}
	}
	if chosen = all; expression != "" {
		if err := c.Send(cmd.Context(), api.ListHosts, api.Params{"expression": expression}, nil, &chosen); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(chosen, func(h api.Host) bool { return len(names) > 0 && !slices.Contains(names, h.Name) }),
		nil
}

var hostColumns = []output.Column[api.Host]{
	{Name: "name"},
	{Name: "state", Status: true},
	{Name: "slots", Right: true, Text: func(h api.Host) string {
		return fmt.Sprintf("%d/%d", h.Slots.Used,
			h.Slots.Total)
	}},
	{Name: "memory", Right: true, Text: func(h api.Host) string {
		return units.Size(h.Memory.Available) + " of " + units.Size(h.Memory.Total)
	}},
	{Name: "promised", Right: true, Member: "memory.promised", Number: output.Size},
	{Name: "per_idle", Right: true, Member: "memory.per_idle", Number: output.Size},
	{Name: "swap", Extra: true, Text: output.SwapOf},
	{Name: "foreign", Extra: true, Right: true, Member: "slots.foreign"},
	{Name: "cluster"},
	{Name: "groups"},
	{Name: "jobs", Text: output.JobsOn},
	{Name: "last_seen_at", Extra: true},
	{Name: "locked", Extra: true},
	{Name: "properties", Extra: true, Text: func(h api.Host) string { return pairs(h.Properties) }},
	{Name: "machine", Extra: true, Member: "machine_id"},
	{Name: "remark", Text: output.HostRemark, Style: output.RemarkStyle},
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
