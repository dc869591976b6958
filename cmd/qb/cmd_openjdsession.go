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
	"qb/internal/pathmap"
	"qb/openjd"
	"qb/openjd/session"
	"qb/supervisor/wire/openjdjobs"
)

func newOpenJDSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "session", Short: "Run the tasks of the items of an instance, in one session", Hidden: true,
		Long: "This is the program of the jobs of qb openjd submit. It takes items as docs/sessions.md says; the number of an item's\n" +
			"task is its QB_FRAME_NUMBER.",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runKeptSession(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

// newKeptSession reads the job and the step of the items that this process is for.
func newKeptSession() (*keptSession, error) {
	value := os.Getenv(openjdjobs.Variable)
	if value == "" {
		return nil, api.Errorf(api.KindUsage, "%s is not set: this command is for items of qb openjd submit",
			openjdjobs.Variable)
	}
	d, err := openjdjobs.Unpack(value)
	if err != nil {
		return nil, api.Errorf(api.KindInvalid, "%s: %v", openjdjobs.Variable, err)
	}
	k := &keptSession{}
	if k.job, err = d.Job(); err != nil {
		return nil, inFile(openjdjobs.Variable, err)
	}
	if k.step, err = stepOf(k.job, d.Step); err != nil {
		return nil, err
	}
	k.environ = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		// actions are no programs that ask for items
		return name == openjdjobs.Variable || name == openjdjobs.PathsVariable || name == "QB_WORK"
	})
	return k, nil
}

// keptSession is the session of an instance: it takes the items that the instance gets one after another.
type keptSession struct {
	job     *openjd.Job
	step    *openjd.Step
	environ []string         // of the program
	session *session.Session // nil: no item has come yet
}

// runKeptSession runs items until no further one comes or one fails. What follows, the leaving of the environments, is
// not canceled with ctx: after TERM it goes on until KILL.
func runKeptSession(ctx context.Context, out, errs io.Writer) error {
	k, err := newKeptSession()
	if err != nil {
		return err
	}
	err = k.takeItems(ctx, out, errs)
	if k.session != nil {
		err = cmp.Or(err, k.session.Close(context.WithoutCancel(ctx)))
	}
	return err
}

// takeItems runs and reports one item after another.
func (k *keptSession) takeItems(ctx context.Context, out, errs io.Writer) error {
	for ctx.Err() == nil {
		asked := time.Now()
		reply, err := askForWork(api.ProgramRequest{Do: api.ProgramRequestWork, Wait: workAskWait.Seconds()}, workAskWait)
		switch {
		case err != nil && time.Since(asked) > workAskWait+workAnswer: // it was frozen, as its host's lease had ended
			continue
		case err != nil:
			return err
		case reply.Status == api.ProgramWaiting || reply.Status == api.ProgramBlocked:
			continue
		case reply.Status != api.ProgramRunning || reply.Work == nil:
			return nil
		}
		r := api.ProgramRequest{Do: api.ProgramReportWork, Item: reply.Work.Item, Attempt: reply.Work.Attempt}
		failed := k.run(ctx, out, reply.Work, &r)
		if failed != nil {
			fmt.Fprintf(errs, "qb openjd: %v\n", failed)
		}
		_, err = askForWork(r, 0)
		if failed != nil { // an item that is being stopped takes no report
			return errors.Join(commandline.ErrSilent, failed)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// run runs the task of an item, the first one of a session after its environments are entered, and makes its report.
func (k *keptSession) run(ctx context.Context, out io.Writer, w *api.ProgramItem, r *api.ProgramRequest) error {
	var action *session.ActionError
	err := k.enter(ctx, out, w)
	if err != nil && ctx.Err() == nil {
		r.Code = api.ProgramEnvironment
	}
	if err == nil {
		err = k.runTask(ctx, w)
	}
	switch {
	case err == nil:
		r.Status = api.ProgramComplete
		return nil
	case errors.As(err, &action) && action.Cause == session.Failed:
		r.ExitCode = max(0, action.Code)
	}
	r.Status = api.ProgramFailed
	r.Reason = err.Error()
	r.Reason = strings.ToValidUTF8(r.Reason[:min(len(r.Reason), api.MaxReason)], "")
	return err
}

// enter makes the session with the first item, and enters its environments.
func (k *keptSession) enter(ctx context.Context, out io.Writer, w *api.ProgramItem) (err error) {
	if k.session != nil {
		return nil
	}
	grace, _ := strconv.ParseFloat(os.Getenv("QB_KILL_GRACE"), 64) // an older worker does not say it
	k.session, err = session.New(k.job, session.Config{
		Environ: k.environOf(w), Rules: rulesOf(w.Paths), Notice: time.Duration(grace * float64(time.Second) / 2),
		Log: func(line string) { fmt.Fprintln(out, line) },
	})
	if err != nil {
		return fmt.Errorf("the session has no folder: %w", err)
	}
	return enterAll(ctx, k.session, k.job, k.step)
}

func (k *keptSession) runTask(ctx context.Context, w *api.ProgramItem) error {
	number := w.Env["QB_FRAME_NUMBER"]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n >= k.step.Space.Len() {
		return api.Errorf(api.KindInvalid, "QB_FRAME_NUMBER %q is not the number of a task: step %s has 0 to %d", number,
			k.step.Name, k.step.Space.Len()-1)
	}
	k.session.Use(k.environOf(w))
	return k.session.Run(ctx, k.step, k.step.Space.At(n))
}

// environOf are the variables of the program with those of an item.
func (k *keptSession) environOf(w *api.ProgramItem) []string {
	environ := slices.Clone(k.environ)
	for name, value := range w.Env {
		if name != "QB_WORK" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// rulesOf are the paths that the host maps, as rules of a session.
func rulesOf(paths []api.MappedPath) (rules []openjd.PathRule) {
	for _, p := range paths {
		format := "POSIX"
		if pathmap.Windows(p.From) {
			format = "WINDOWS"
		}
		rules = append(rules, openjd.PathRule{Format: format, Source: p.From, Destination: p.To})
	}
	return rules
}
