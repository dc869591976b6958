package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// instance is a row of the list: what a host runs.
type instance struct {
	Instance      string           `json:"instance"`
	Job           int64            `json:"job"`
	Number        int              `json:"number"`
	State         string           `json:"state"`
	Kind          string           `json:"kind"`
	Host          string           `json:"host"`
	Item          string           `json:"item"`
	Next          string           `json:"next,omitempty"`
	Attempt       int              `json:"attempt"`
	Slots         int              `json:"slots"`
	Memory        int64            `json:"memory"`
	Holds         map[string]int64 `json:"holds,omitempty"`
	ItemStartedAt *time.Time       `json:"item_started_at,omitempty"`
	SuspendedAt   *time.Time       `json:"suspended_at,omitempty"`
	Suspended     float64          `json:"suspended_seconds,omitempty"`
}

func newInstancesCommand() *cobra.Command {
	var list output.ListOptions
	cmd := &cobra.Command{
		Use: "instances [JOB…]", Short: "List the instances that run, of jobs or of the whole farm",
		Long:    "List the instances that run, of the given jobs or of the whole farm, by job and number.\nActions take them as JOB.NUMBERS, such as qbsuspend 12.0-3.",
		Example: "  qbinstances 12\n  qbinstances 12 13 -json\n  qbinstances -fields instance,host,item",
		RunE: func(cmd *cobra.Command, words []string) error {
			wanted, err := jobIDs(words)
			if err != nil {
				return err
			}
			return listInstances(cmd, list, nil, wanted)
		},
	}
	list.Bind(cmd.Flags())
	return cmd
}

// listInstances lists the instances on hosts of these names, or on all, of the jobs wanted, or of all.
func listInstances(cmd *cobra.Command, list output.ListOptions, names []string, wanted []int64) error {
	return listOf(cmd, "no instance"+ofJobs(wanted)+onHosts(names)+" runs now", list, instanceColumns,
		func(c *client, add func(...instance) error) error {
			hosts, err := chosenHosts(cmd, c, names, new(hostChoice))
			if err != nil {
				return err
			}
			return add(instancesOf(hosts, wanted)...)
		})
}

// onHosts names hosts; "" if none is named.
func onHosts(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " on " + units.Few(names)
}

// instancesOf are the instances on the hosts, of the jobs wanted or if none is of all.
func instancesOf(hosts []api.Host, wanted []int64) (found []instance) {
	for _, h := range hosts {
		for _, i := range h.Instances {
			if len(wanted) == 0 || slices.Contains(wanted, i.Job) {
				found = append(found, instance{fmt.Sprintf("%d.%d", i.Job, i.Instance), i.Job, i.Instance, i.State, i.Kind, h.Name,
					i.Item, i.Next, i.Attempt, i.Slots, i.Memory, i.Holds, i.ItemStartedAt, i.SuspendedAt, i.SuspendedSeconds})
			}
		}
	}
	slices.SortFunc(found, func(a, b instance) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Number, b.Number))
	})
	return found
}

// wall is for how long the item has run, without the time for which it was stopped.
func (i instance) wall() string {
	if i.ItemStartedAt == nil {
		return ""
	}
	until := time.Now()
	if i.SuspendedAt != nil {
		until = *i.SuspendedAt
	}
	return output.Span(max(0, until.Sub(*i.ItemStartedAt)-time.Duration(i.Suspended*float64(time.Second))))
}

var instanceColumns = []output.Column[instance]{
	{Name: "instance"},
	{Name: "state", Status: true},
	{Name: "kind"},
	{Name: "host"},
	{Name: "item"},
	{Name: "attempt", Right: true},
	{Name: "slots", Right: true},
	{Name: "memory", Right: true, Number: output.KnownSize},
	{Name: "wall", Right: true, Text: instance.wall},
	{Name: "next", Extra: true},
	{Name: "job", Extra: true},
	{Name: "item_started_at", Extra: true},
	{Name: "suspended_at", Extra: true},
	{Name: "suspended_seconds", Extra: true},
}
