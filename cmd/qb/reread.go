package main

import (
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor"
)

// onHangup catches SIGHUP, which would else end a service, from now on.
func onHangup() <-chan os.Signal {
	hangup := make(chan os.Signal, 1) // one that waits stands for all that came meanwhile
	signal.Notify(hangup, syscall.SIGHUP)
	return hangup
}

// reload reads the configuration again in the way it was read at the start: the file that is found now,
// the environment and the options of the process.
func (c *service) reload() (supervisor.Reloaded, error) {
	again, err := c.again()
	if err != nil {
		return supervisor.Reloaded{}, err
	}
	out := supervisor.Reloaded{Config: again.SupervisorKeys, File: again.File}
	var workers []string
	was, is := reflect.ValueOf(c.WorkerKeys), reflect.ValueOf(again.WorkerKeys)
	for n := range is.NumField() {
		if key := is.Type().Field(n).Tag.Get("toml"); key != "" && !reflect.DeepEqual(was.Field(n).Interface(), is.Field(n).Interface()) {
			workers = append(workers, key)
		}
	}
	if len(workers) > 0 {
		out.Remarks = append(out.Remarks, strings.Join(workers, ", ")+": workers read it when they start")
	}
	return out, nil
}

func newAdminSupervisor() *cobra.Command {
	var reread bool
	cmd := &cobra.Command{
		Use: "supervisor", Short: "Make the supervisor reload its configuration", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin supervisor -reread",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !reread {
				return api.Errorf(api.KindUsage, "give -reread")
			}
			reply, err := ask[api.RereadReply](cmd, api.Reread, nil, nil)
			if err != nil {
				return err
			}
			from, changed := "defaults and environment", "nothing has changed"
			if reply.File != "" {
				from = reply.File
			}
			if len(reply.Changed) > 0 {
				changed = "in force: " + strings.Join(reply.Changed, ", ")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s read again; %s\n", output.Escape(from), output.Escape(changed))
			remark(cmd, reply.Remarks)
			return nil
		},
	}
	cmd.Flags().BoolVar(&reread, "reread", false, "reload the file; if it has errors, the old configuration stays in force")
	return cmd
}

func newAdminBrake() *cobra.Command {
	var release bool
	cmd := &cobra.Command{
		Use: "brake", Short: "Release the mass-failure brake: items of hosts that fell silent together run elsewhere", Args: commandline.WantArgs(0, 0, ""),
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
