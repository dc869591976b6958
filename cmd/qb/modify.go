package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/jobselect"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
)

func newModifyCommand() *cobra.Command {
	var choice jobselect.Options
	cmd := &cobra.Command{
		Use: "modify JOB…|0", Short: "Change unfinished jobs; 0 means all of yours",
		Long: "Change unfinished jobs; 0 means all of yours. Options without an m choose among your jobs, or with ids among those;\n" +
			"-user all chooses among everybody's.",
		Example: `  qbmodify -mmax_cpus 80 12
  qbmodify -mpriority 3 -mname hero 12 13
  qbmodify -mcpus 2 -name 'comp*' -priority 9999`,
		RunE: func(cmd *cobra.Command, words []string) error { return modify(cmd, words, &choice) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	for i := range facts.Attributes {
		attributeOption(changeOption).bind(f, &facts.Attributes[i])
	}
	choice.Bind(f)
	bindRepeat(cmd)
	return cmd
}

func modify(cmd *cobra.Command, words []string, choice *jobselect.Options) error {
	if err := wantJobs(words, choice); err != nil {
		return err
	}
	var req api.ModifyRequest
	if !attributeOption(changeOption).give(cmd.Flags(), &req) {
		return api.Errorf(api.KindUsage, "nothing to change; give an option such as -mpriority 5 (%s -h lists all)", typedName(cmd))
	}
	return eachJob(cmd, words, jobselect.Unfinished, choice, func(c *client, t target) (int, error) {
		if t.items != "" {
			return 0, api.Errorf(api.KindUsage, "%s: only whole jobs can be modified; give the id %d", output.Escape(t.word), t.job)
		}
		var reply api.SubmitReply
		if err := c.Change(cmd.Context(), t.word, api.Modify, jobParam(t.job), req, &reply); err != nil {
			return 0, err
		}
		fmt.Fprintln(cmd.OutOrStdout(), t.job)
		remark(cmd, reply.Remarks)
		return 1, nil
	})
}
