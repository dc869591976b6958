package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

type watchOptions struct {
	user      string
	untilDone bool
	every     time.Duration
}

func newWatchCommand() *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use: "watch [JOB…]", Short: "Watch jobs and hosts live",
		Long: "Watch jobs and hosts live. Without ids: all unfinished jobs, and jobs that end while you watch.\n" +
			"If standard output is no terminal, print a line whenever a job or a host's slots change.",
		Example: "  qb watch\n  qb watch 12 13 -until-done",
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	cmd.Flags().StringVar(&o.user, "user", "all", "watch jobs of user `NAME`; all: of every user")
	cmd.Flags().BoolVar(&o.untilDone, "until-done", false, "exit when all watched jobs have ended: 0 if all are complete, else 1")
	cmd.Flags().DurationVar(&o.every, "every", time.Second, "`DURATION` between two updates")
	return cmd
}

func (o *watchOptions) run(cmd *cobra.Command, words []string) error {
	var ids []int64
	for _, word := range words {
		id, err := jobID(word)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if o.untilDone && len(ids) == 0 {
		return api.Errorf(api.KindUsage, "-until-done needs the ids of the jobs to wait for")
	}
	if o.every < 50*time.Millisecond {
		return api.Errorf(api.KindUsage, "-every %s is too short; use 50ms or more", o.every)
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	w := watcher{client: c, out: cmd.OutOrStdout(), options: o, ids: ids, terminal: output.IsTerminal(cmd.OutOrStdout()), seen: map[string]string{}}
	ctx, stop := output.WhileRead(cmd.Context(), cmd.OutOrStdout())
	defer stop()
	return w.run(ctx, poller{client: c, errOut: cmd.ErrOrStderr()})
}

// watcher draws the farm again and again.
type watcher struct {
	*client
	out      io.Writer
	options  *watchOptions
	ids      []int64
	terminal bool
	drawn    int               // lines of the last picture
	seen     map[string]string // what plain lines said last, by job or host
	shown    []int64           // jobs of the last look
}

func (w *watcher) run(ctx context.Context, p poller) error {
	for {
		var jobs []api.Job
		var hosts []api.Host
		again, err := p.look(func() (err error) {
			if jobs, err = w.jobs(ctx); err != nil {
				return err
			}
			return w.call(ctx, api.ListHosts, nil, nil, &hosts)
		})
		if errors.Is(err, context.Canceled) {
			return w.leave(ctx)
		}
		if err != nil {
			return err
		}
		if !again {
			if err := w.show(jobs, hosts); err != nil {
				return err
			}
			if w.options.untilDone && allEnded(jobs) {
				return verdict(jobs)
			}
		}
		if sleep(ctx, w.options.every) != nil {
			return w.leave(ctx)
		}
	}
}

// leave ends a watch that a person or the reader of its output has ended. Who waits for jobs has not seen their end.
func (w *watcher) leave(ctx context.Context) error {
	if cause := context.Cause(ctx); w.options.untilDone || !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func allEnded(jobs []api.Job) bool {
	return !slices.ContainsFunc(jobs, func(j api.Job) bool { return !slices.Contains(finished, j.Status) })
}

// verdict names the jobs that did not complete.
func verdict(jobs []api.Job) error {
	var bad []string
	for _, job := range jobs {
		if job.Status != "complete" {
			bad = append(bad, fmt.Sprintf("job %d %s", job.ID, ended(job.Status)))
		}
	}
	if len(bad) > 0 {
		return api.Errorf(api.KindConflict, "%s", strings.Join(bad, ", "))
	}
	return nil
}

// jobs are those named, or those that have not ended together with those that did since the last look.
func (w *watcher) jobs(ctx context.Context) ([]api.Job, error) {
	var jobs []api.Job
	add := func(job api.Job) error { jobs = append(jobs, job); return nil }
	if len(w.ids) > 0 {
		return jobs, w.namedJobs(ctx, jobFilter{ids: w.ids}, add)
	}
	filter := jobFilter{user: w.options.user, states: unfinished, limit: 500}
	if filter.user == "all" {
		filter.user = ""
	}
	if err := w.eachJob(ctx, filter, add); err != nil {
		return nil, err
	}
	var gone []int64
	for _, id := range w.shown {
		if !slices.ContainsFunc(jobs, func(j api.Job) bool { return j.ID == id }) {
			gone = append(gone, id)
		}
	}
	if err := w.namedJobs(ctx, jobFilter{ids: gone}, add); err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b api.Job) int { return int(a.ID - b.ID) })
	w.shown = w.shown[:0]
	for _, job := range jobs {
		w.shown = append(w.shown, job.ID)
	}
	return jobs, nil
}

func (w *watcher) show(jobs []api.Job, hosts []api.Host) error {
	if w.terminal {
		return w.draw(jobs, hosts)
	}
	for _, job := range jobs {
		n := job.Items
		text := fmt.Sprintf("job %d %s %s: %d/%d done, %s running", job.ID, output.Cell(job.Name), job.Status, n.Complete, n.Total, runningText(job.Instances))
		if n.Failed > 0 {
			text += fmt.Sprintf(", %d failed", n.Failed)
		}
		if err := w.say(fmt.Sprintf("job %d", job.ID), text); err != nil {
			return err
		}
	}
	for _, host := range hosts {
		err := w.say("host "+host.Name, fmt.Sprintf("host %s %s: %d/%d slots %s", output.Escape(host.Name), host.State, host.Slots.Used, host.Slots.Total, jobsOn(host)))
		if err != nil {
			return err
		}
	}
	return nil
}

// say prints a line if it differs from the last one about the same thing.
func (w *watcher) say(about, text string) error {
	if w.seen[about] == text {
		return nil
	}
	w.seen[about] = text
	_, err := fmt.Fprintf(w.out, "%s %s\n", time.Now().Format("15:04:05"), strings.TrimSpace(text))
	return err
}

// draw replaces the last picture by a new one, cut to the terminal: a line that wraps would spoil it.
func (w *watcher) draw(jobs []api.Job, hosts []api.Host) error {
	var picture bytes.Buffer
	if err := output.Table(&picture, watchJobColumns, jobs); err != nil {
		return err
	}
	picture.WriteByte('\n')
	if err := output.Table(&picture, watchHostColumns, hosts); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(picture.String(), "\n"), "\n")
	height, width := output.TerminalSize(w.out)
	if most := max(height-1, 2); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… %d more lines", len(lines)-most+1))
	}
	cut := lipgloss.NewStyle().MaxWidth(width)
	var b strings.Builder
	if w.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", w.drawn)
	}
	for _, line := range lines {
		b.WriteString("\r\x1b[K" + cut.Render(line) + "\n")
	}
	b.WriteString("\x1b[J")
	w.drawn = len(lines)
	_, err := io.WriteString(w.out, b.String())
	return err
}

var watchJobColumns = append([]output.Column[api.Job]{
	{Name: "progress", Text: func(j api.Job) string { return bar(j.Items, 20) }},
}, slices.DeleteFunc(slices.Clone(jobColumns), func(c output.Column[api.Job]) bool { return c.Extra || c.Name == "user" })...)

var watchHostColumns = append(slices.DeleteFunc(slices.Clone(hostColumns), func(c output.Column[api.Host]) bool {
	return c.Extra || c.Name == "groups" || c.Name == "cluster" || c.Name == "jobs"
}), output.Column[api.Host]{Name: "running", Text: func(h api.Host) string { return jobsOn(h) }})

// bar shows complete items as #, running ones as =, failed and killed ones as x.
func bar(n api.ItemCounts, width int) string {
	if n.Total == 0 {
		return ""
	}
	part := func(count int) int { return count * width / n.Total }
	complete, bad := part(n.Complete), part(n.Failed+n.Killed)
	running := min(max(part(n.Running), min(n.Running, 1)), width-complete-bad)
	return strings.Repeat("#", complete) + strings.Repeat("=", running) + strings.Repeat("x", bad) +
		strings.Repeat(".", width-complete-running-bad)
}
