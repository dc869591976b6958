package main

import (
	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
)

// newConfigFileCommand is Qube's qbconfigfile, which shows a file as it is meant.
func newConfigFileCommand() *cobra.Command {
	return &cobra.Command{
		Use: "configfile [FILE]", Short: "Print the settings as qb config show -origin does, or a qb.conf of Qube!'s as qb's",
		Args: commandline.WantArgs(0, 1, "file"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 1 {
				return config.Import(files[0], cmd.OutOrStdout())
			}
			return showSettings(cmd, true, nil)
		},
	}
}
