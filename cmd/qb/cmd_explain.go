package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

func newExplainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain JOB", Short: "Explain why a job's items wait", Args: commandline.WantArgs(1, 1, "job id"),
		RunE: func(cmd *cobra.Command, words []string) error {
			id, err := jobID(words[0])
			if err != nil {
				return err
			}
			raw, err := ask[json.RawMessage](cmd, api.Explain, jobParam(id), nil)
			if err != nil {
				return err
			}
			if asJSON {
				return output.PrintJSON(cmd.OutOrStdout(), raw)
			}
			var e api.Explanation
			if err := json.Unmarshal(raw, &e); err != nil {
				return fmt.Errorf("reading the explanation: %w", err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "job %d: %s\n", id, output.Escape(cmp.Or(e.Reason, "no item waits")))
			for _, fact := range e.Facts {
				fmt.Fprintf(out, "  %-10s %s\n", output.Escape(fact.Kind), output.Escape(fact.Text))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
