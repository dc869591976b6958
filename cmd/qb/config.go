package main

import (
	"io"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/find"
)

func newConfigCommand() *cobra.Command {
	command := &cobra.Command{Use: "config", Short: "Show or check the configuration, print an example or a preset"}
	var origin bool
	show := &cobra.Command{
		Use: "show [KEY…]", Short: "Print the configuration in force, or the given settings",
		RunE: func(cmd *cobra.Command, keys []string) error {
			c, err := find.Config(cmd)
			if err != nil {
				return err
			}
			return c.Show(cmd.OutOrStdout(), origin, keys)
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "print where each value comes from")
	check := &cobra.Command{
		Use: "check FILE", Short: "Check a configuration file; print its errors", Args: commandline.WantArgs(1, 1, "file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return config.CheckFile(args[0], cmd.OutOrStdout())
		},
	}
	imported := &cobra.Command{
		Use: "import FILE", Short: "Print a qb.conf of Qube!'s as qb's, with notes on what means something else", Args: commandline.WantArgs(1, 1, "file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return config.Import(args[0], cmd.OutOrStdout())
		},
	}
	workers := &cobra.Command{
		Use: "workers FILE", Short: "Print a qbwrk.conf of Qube!'s as a file for supervisor_worker_configfile, with notes on what each line has become", Args: commandline.WantArgs(1, 1, "file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return config.ImportWorkers(args[0], cmd.OutOrStdout())
		},
	}
	example := &cobra.Command{
		Use: "example", Short: "Print every setting with its meaning and default", Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), config.Example())
			return err
		},
	}
	preset := &cobra.Command{
		Use: "preset NAME [FILE]", Short: "Print the settings of a tested combination (studio or lab), or write them into a file", Args: commandline.WantArgs(1, 2, "preset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) > 1 {
				file = args[1]
			}
			return config.Preset(args[0], file, cmd.OutOrStdout())
		},
	}
	command.AddCommand(show, check, example, imported, workers, preset)
	return command
}

// newConfigFileCommand is Qube's qbconfigfile, which shows a file as it is meant.
func newConfigFileCommand() *cobra.Command {
	return &cobra.Command{
		Use: "configfile [FILE]", Short: "Print the configuration in force and where each value comes from, or a qb.conf of Qube!'s as qb's", Args: commandline.WantArgs(0, 1, "file"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 1 {
				return config.Import(files[0], cmd.OutOrStdout())
			}
			c, err := find.Config(cmd)
			if err != nil {
				return err
			}
			return c.Show(cmd.OutOrStdout(), true, nil)
		},
	}
}
