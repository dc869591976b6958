package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/find"
)

func newConfigCommand() *cobra.Command {
	command := &cobra.Command{Use: "config", Short: "Show or check the configuration, print an example or a preset"}
	var origin bool
	show := &cobra.Command{
		Use: "show [KEY…]", Short: "Print the settings that the supervisor has in force, and this machine's for workers and commands",
		RunE: func(cmd *cobra.Command, keys []string) error {
			return showSettings(cmd, origin, keys)
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
		Use: "import FILE", Short: "Print a qb.conf of Qube!'s as qb's, with notes on what means something else",
		Args: commandline.WantArgs(1, 1, "file"),
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
		Use:   "preset NAME [FILE]",
		Short: "Print the settings of a tested combination (studio or lab), or write them into a file",
		Args:  commandline.WantArgs(1, 2, "preset"),
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

// inForceWithin bounds the wait for a supervisor's own settings.
const inForceWithin = 5 * time.Second

// showSettings prints what the supervisor that answers has in force, else what is read here. A file that is named by
// -conf is asked for itself.
func showSettings(cmd *cobra.Command, origin bool, keys []string) error {
	c, err := find.Config(cmd)
	if err != nil {
		return err
	}
	unanswered := "-conf names a file"
	var reply api.SupervisorSettings
	if !cmd.Flags().Changed("conf") {
		asking := client{cmd: cmd, conf: c}
		if err = asking.Find(); err == nil {
			ctx, cancel := context.WithTimeout(cmd.Context(), inForceWithin)
			defer cancel()
			err = asking.Call(ctx, api.SupervisorConfiguration, nil, nil, &reply)
		}
		if err == nil {
			err = c.Take(reply.Settings)
		}
		if err != nil {
			unanswered, reply.URL = strings.ReplaceAll(err.Error(), "\n", "; "), ""
		}
	}
	return c.Show(cmd.OutOrStdout(), cmd.ErrOrStderr(), origin, keys, reply.URL, unanswered)
}
