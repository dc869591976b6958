package main

import (
	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

var jobOrderColumns = []output.Column[api.JobPlacement]{
	{Name: "place", Right: true, Number: func(n float64) string {
		if n == 0 {
			return "-"
		}
		return output.Formatted("%.0f")(n)
	}},
	{Name: "job", Right: true}, {Name: "user"}, {Name: "priority", Right: true}, {Name: "cluster"}, {Name: "name"},
	{Name: "code", Extra: true}, {Name: "reason"},
}

// newJobOrderCommand is qbjoborder.
func newJobOrderCommand() *cobra.Command {
	var o output.ListOptions
	cmd := &cobra.Command{
		Use: "joborder HOST", Short: "List the order in which jobs' waiting items would go to a host",
		Args: commandline.WantArgs(1, 1, "host"),
		Long: "List the order in which jobs' waiting items would go to a host, by a plan of the farm as it is now; behind them, with -, jobs\n" +
			"whose items would not, and why. qb explain JOB tells more of one job.",
		Example: "  qbjoborder rn01",
		RunE: func(cmd *cobra.Command, words []string) error {
			return listRows(cmd, "no job has items that wait, so nothing is ordered", o, jobOrderColumns, api.OrderOfJobs,
				api.Params{"host": words[0]})
		},
	}
	o.BindLong(cmd.Flags())
	return cmd
}
