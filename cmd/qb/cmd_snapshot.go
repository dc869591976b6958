package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

func newSnapshotCommand() *cobra.Command {
	return &cobra.Command{
		Use: "snapshot", Short: "Print a snapshot of the farm, as JSON for qb plan", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qb snapshot | qb plan -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := ask[json.RawMessage](cmd, api.GetSnapshot, nil, nil)
			if err != nil {
				return err
			}
			return output.PrintJSON(cmd.OutOrStdout(), raw)
		},
	}
}
