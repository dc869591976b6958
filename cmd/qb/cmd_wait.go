package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/units"
)

// How often a waiting command looks, and how long a supervisor may be away meanwhile before they give up.
const (
	lookEvery  = 500 * time.Millisecond
	awayAtMost = 10 * time.Minute
)

type waitOptions struct {
	choice  jobChoice
	timeout units.Span
}

// errWaited ends a wait that had a limit.
var errWaited = errors.New("the time is over")

func newWaitCommand() *cobra.Command {
	var o waitOptions
	cmd := &cobra.Command{
		Use: "wait JOB…|0", Short: "Wait until jobs have ended",
		Long: `Wait until jobs have ended. 0 means all of your unfinished jobs. Options choose among your unfinished jobs, or with ids
among those; -user all chooses among everybody's. Jobs that are submitted meanwhile are not waited for. The last job of a submission
that became several (-p_agenda, -flags host_list) stands for all of them.

The exit code is 0 if all jobs are complete, and 1 if one failed or was killed, or if -timeout is over.`,
		Example: "  qbwait 12 13\n  qbwait -timeout 2h 0\n  qbwait -name 'comp*' -pgrp 12",
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	o.choice.Bind(cmd.Flags())
	cmd.Flags().Var(&o.timeout, "timeout", "give up after this `TIME`, such as 90s or 2h (default: never)")
	return cmd
}

func (o *waitOptions) run(cmd *cobra.Command, words []string) error {
	if err := wantJobs(words, &o.choice); err != nil {
		return err
	}
	targets, all, err := parseTargets(words)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.part() {
			return api.Errorf(api.KindUsage, "%q names a part of a job; only whole jobs can be waited for", t.word)
		}
	}
	c := connect(cmd)
	if err := c.found(); err != nil {
		return err
	}
	if all || o.choice.Given() {
		f := chosenBy(&o.choice, len(targets) == 0)
		if len(f.states) == 0 {
			f.states = unfinishedStates
		}
		if targets, err = c.passing(cmd.Context(), f, targets); err != nil { // it is no error if there are none
			return err
		}
	}
	if o.timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), time.Duration(o.timeout), errWaited)
		defer cancel()
		cmd.SetContext(ctx)
	}
	var first error
	for _, t := range targets {
		err := waitOn(cmd, c, t.job)
		switch {
		case err == nil:
		case context.Cause(cmd.Context()) == errWaited:
			return api.Errorf(api.KindConflict, "job %d has not ended after %s", t.job, o.timeout)
		case cmd.Context().Err() != nil:
			return err
		case first == nil:
			first = err
		default:
			fmt.Fprintln(cmd.ErrOrStderr(), commandline.TypedName(cmd)+": "+err.Error())
		}
	}
	return first
}

// waitOn returns when the job and the jobs that its submission made before it have ended: nil if all are complete.
func waitOn(cmd *cobra.Command, c *client, id int64) error {
	job, failed := waitOnOne(cmd, c, id)
	for _, other := range job.Before {
		if cmd.Context().Err() != nil {
			break
		}
		if _, err := waitOnOne(cmd, c, other); api.Refusal(err).Kind != api.KindNotFound { // it may have been removed
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// waitOnOne returns at the job's end: nil if it is complete.
func waitOnOne(cmd *cobra.Command, c *client, id int64) (job api.Job, err error) {
	ctx, out := cmd.Context(), cmd.ErrOrStderr()
	line := progressLine{out: out, terminal: output.IsTerminal(out)}
	p := poller{client: c, errOut: out}
	for {
		job = api.Job{}
		again, err := p.look(func() error { return c.Send(ctx, api.GetJob, jobParam(id), nil, &job) })
		if err != nil && ctx.Err() == nil {
			return job, err
		}
		if err == nil && !again {
			line.draw(job, time.Now())
			if slices.Contains(finishedStates, job.Status) {
				line.end()
				if job.Status == "complete" {
					return job, nil
				}
				return job, api.Errorf(api.KindConflict, "job %d %s: %d of %d items complete, %d failed, %d killed; see qbitems %d",
					id, ended(job.Status), job.Items.Complete, job.Items.Total, job.Items.Failed, job.Items.Killed, id)
			}
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			line.end()
			if context.Cause(ctx) == errWaited {
				return job, err
			}
			fmt.Fprintf(out, "interrupted: job %d goes on; qbjobs %d shows it, qbkill %d ends it\n", id, id, id)
			return job, err
		}
	}
}

func ended(status string) string {
	if status == "killed" {
		return "was killed"
	}
	return status
}

// progressLine is one line of a terminal that is drawn again; elsewhere it draws nothing.
type progressLine struct {
	out      io.Writer
	terminal bool
	began    time.Time
	before   int // items that were complete when it began
	drawn    bool
}

func (l *progressLine) draw(job api.Job, now time.Time) {
	if !l.terminal {
		return
	}
	if l.began.IsZero() {
		l.began, l.before = now, job.Items.Complete
	}
	l.drawn = true
	fmt.Fprintf(l.out, "\r\x1b[K%s", progressText(job, l.before, now.Sub(l.began)))
}

func (l *progressLine) end() {
	if l.drawn {
		fmt.Fprintln(l.out)
	}
}

// progressText is done/total, running primary+secondary, failed, rate and the time left at that rate.
func progressText(job api.Job, before int, watched time.Duration) string {
	n := job.Items
	text := fmt.Sprintf("job %d %s: %d/%d done, %d+%d running", job.ID, job.Status, n.Complete, n.Total,
		job.Instances.Primary, job.Instances.Secondary)
	if n.Failed > 0 {
		text += fmt.Sprintf(", %d failed", n.Failed)
	}
	gained := n.Complete - before
	if left := n.Pending + n.Running; gained > 0 && left > 0 && watched >= time.Second {
		rate := float64(gained) / watched.Seconds()
		text += fmt.Sprintf(", %s, %s left", rateText(rate),
			output.Span(time.Duration(float64(left)/rate*float64(time.Second))))
	}
	return text
}

// rateText keeps two digits that mean something, for items of milliseconds as of hours.
func rateText(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return fmt.Sprintf("%.1f items/s", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf("%.1f items/min", perSecond*60)
	}
	return fmt.Sprintf("%.1f items/h", perSecond*3600)
}
