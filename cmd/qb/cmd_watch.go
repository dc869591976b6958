package main

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/cmd/qb/watch"
	"qb/internal/units"
)

func newWatchCommand() *cobra.Command {
	o := watch.Options{Every: time.Second}
	cmd := &cobra.Command{
		Use: "watch [JOB…]", Short: "Watch jobs and hosts live",
		Long: "Watch jobs and hosts live, on the whole terminal; ? lists the keys. Without ids: all unfinished jobs, jobs that\n" +
			"end while you watch and those that ended within the last day.\n" +
			"If standard output is no terminal, print a line whenever a job or a host's slots change.",
		Example: "  qb watch\n  qb watch 12 13 -until-done",
		RunE:    func(cmd *cobra.Command, words []string) error { return runWatch(cmd, o, words) },
	}
	cmd.Flags().StringVar(&o.User, "user", "all", "watch jobs of user `NAME`; all: of every user; me: yours")
	cmd.Flags().BoolVar(&o.UntilDone, "until-done", false,
		"exit when all watched jobs have ended: 0 if all are complete, else 1")
	cmd.Flags().Var((*units.Span)(&o.Every), "every", "`DURATION` between two updates")
	return cmd
}

func runWatch(cmd *cobra.Command, o watch.Options, words []string) error {
	ids, err := jobIDs(words)
	if err != nil {
		return err
	}
	o.IDs = ids
	if o.UntilDone && len(o.IDs) == 0 {
		return api.Errorf(api.KindUsage, "-until-done needs the ids of the jobs to wait for")
	}
	if o.Every < 50*time.Millisecond {
		return api.Errorf(api.KindUsage, "-every %s is too short; use 50ms or more", o.Every)
	}
	switch o.User {
	case "all":
		o.User = ""
	case "me":
		c := connect(cmd)
		me, err := c.ping()
		if err != nil {
			return err
		}
		o.User = me.User
	}
	if term := os.Getenv("TERM"); output.IsTerminal(cmd.OutOrStdout()) && term != "" && term != "dumb" {
		screen := watch.Screen{Options: o, Describe: describe, Connect: func() watch.Farm { return connect(cmd) }}
		return screen.Run(cmd.Context(), func() { cmd.SetErr(io.Discard) })
	}
	c := connect(cmd)
	if err := c.found(); err != nil {
		return err
	}
	ctx, stop := output.WhileRead(cmd.Context(), cmd.OutOrStdout())
	defer stop()
	p := poller{client: c, errOut: cmd.ErrOrStderr()}
	return watch.Lines(ctx, cmd.OutOrStdout(), c, o, p.look)
}
