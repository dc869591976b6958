//go:build !client

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/openjd"
	"qb/openjd/session"
	"qb/supervisor/wire/openjdjobs"
)

func newOpenJDSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "session", Short: "Run the task of an item, in a session of its own", Hidden: true,
		Long: "This is the command of the items of qb openjd submit. It runs the task whose number is in QB_FRAME_NUMBER.",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runItemSession(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// ofItem is the job, the step and the task of the item that this process is.
func ofItem() (*openjd.Job, *openjd.Step, []openjd.TaskValue, error) {
	value := os.Getenv(openjdjobs.Variable)
	if value == "" {
		return nil, nil, nil, api.Errorf(api.KindUsage, "%s is not set: this command is for items of qb openjd submit",
			openjdjobs.Variable)
	}
	d, err := openjdjobs.Unpack(value)
	if err != nil {
		return nil, nil, nil, api.Errorf(api.KindInvalid, "%s: %v", openjdjobs.Variable, err)
	}
	j, err := d.Job()
	if err != nil {
		return nil, nil, nil, inFile(openjdjobs.Variable, err)
	}
	step, err := stepOf(j, d.Step)
	if err != nil {
		return nil, nil, nil, err
	}
	n, err := strconv.ParseInt(os.Getenv("QB_FRAME_NUMBER"), 10, 64)
	if err != nil || n < 0 || n >= step.Space.Len() {
		return nil, nil, nil, api.Errorf(api.KindInvalid, "QB_FRAME_NUMBER %q is not the number of a task: step %s has 0 to %d",
			os.Getenv("QB_FRAME_NUMBER"), step.Name, step.Space.Len()-1)
	}
	return j, step, step.Space.At(n), nil
}

// runItemSession runs the task of an item. After TERM the action is canceled; what follows it, the leaving of the
// environments, goes on until KILL.
func runItemSession(ctx context.Context, out io.Writer) error {
	j, step, task, err := ofItem()
	if err != nil {
		return err
	}
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, openjdjobs.Variable) // and PathsVariable
	})
	grace, _ := strconv.ParseFloat(os.Getenv("QB_KILL_GRACE"), 64) // an older worker does not say it
	s, err := session.New(j, session.Config{
		Environ: environ, Notice: time.Duration(grace * float64(time.Second) / 2),
		Log: func(line string) { fmt.Fprintln(out, line) },
	})
	if err != nil {
		return err
	}
	_, failed := runTasks(ctx, s, j, step, slices.Values([][]openjd.TaskValue{task}))
	closed := s.Close(context.WithoutCancel(ctx))
	return endOf(cmp.Or(failed, closed))
}

// endOf gives the end of an action its exit code.
func endOf(err error) error {
	var action *session.ActionError
	if errors.As(err, &action) && action.Cause == session.Failed && action.Code > 0 {
		return actionEnd{err, action.Code}
	}
	return err
}
