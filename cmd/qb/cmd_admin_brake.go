package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

func newAdminBrake() *cobra.Command {
	var release bool
	cmd := &cobra.Command{
		Use: "brake", Short: "Release the mass-failure brake: items of hosts that fell silent together run elsewhere",
		Args:    commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin brake -release",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !release {
				return api.Errorf(api.KindUsage, "give -release; qbping says whether the brake is engaged")
			}
			if _, err := ask[api.BrakeReply](cmd, api.ReleaseBrake, nil, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "brake: released")
			return nil
		},
	}
	cmd.Flags().BoolVar(&release, "release", false, "move the items of silent hosts when their lease ends")
	return cmd
}
