package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/pause"
)

// Options are what is watched, and how.
type Options struct {
	IDs       []int64       // jobs; none: the unfinished ones, and the ones that end meanwhile
	User      string        // whose jobs; empty: every user's
	UntilDone bool          // return when all jobs have ended: an error unless all are complete
	Every     time.Duration // between two looks
}

// Lines prints a line to out whenever a job or a host has changed. Retry waits for a supervisor that is away: again
// says that the call is worth repeating.
func Lines(ctx context.Context, out io.Writer, farm Farm, o Options,
	retry func(call func() error) (again bool, err error)) error {
	s := source{farm: farm, now: time.Now, ids: o.IDs, user: o.User}
	p := printer{out: out, seen: map[string]string{}}
	for {
		var now Look
		again, err := retry(func() (err error) { now, err = s.look(ctx); return err })
		if errors.Is(err, context.Canceled) {
			return leave(ctx, o)
		}
		if err != nil {
			return err
		}
		if !again {
			if err := p.show(now); err != nil {
				return err
			}
			if o.UntilDone && allEnded(now.jobs) {
				return verdict(now.jobs)
			}
		}
		if pause.For(ctx, o.Every) != nil {
			return leave(ctx, o)
		}
	}
}

// leave ends a watch that a person or the reader of its output has ended. Who waits for jobs has not seen their end.
func leave(ctx context.Context, o Options) error {
	if cause := context.Cause(ctx); o.UntilDone || !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// printer prints what has changed.
type printer struct {
	out  io.Writer
	seen map[string]string // the last line about each job and host
}

func (p *printer) show(now Look) error {
	for _, job := range now.jobs {
		n := job.Items
		text := fmt.Sprintf("job %d %s %s: %d/%d done, %s running", job.ID, output.Cell(job.Name), job.Status, n.Complete,
			n.Total, output.Running(job.Instances))
		if n.Failed > 0 {
			text += fmt.Sprintf(", %d failed", n.Failed)
		}
		if err := p.say(fmt.Sprintf("job %d", job.ID), text); err != nil {
			return err
		}
	}
	for _, host := range now.hosts {
		text := fmt.Sprintf("host %s %s: %d/%d slots %s", output.Escape(host.Name), host.State, host.Slots.Used,
			host.Slots.Total, output.JobsOn(host))
		for _, a := range host.AvoidedBy {
			text += "; " + output.Escape(a.Text)
		}
		if err := p.say("host "+host.Name, text); err != nil {
			return err
		}
	}
	return nil
}

// say prints a line if it differs from the last one about the same thing.
func (p *printer) say(about, text string) error {
	if p.seen[about] == text {
		return nil
	}
	p.seen[about] = text
	_, err := fmt.Fprintf(p.out, "%s %s\n", time.Now().Format("15:04:05"), strings.TrimSpace(text))
	return err
}

// unavailable says whether no supervisor could answer.
func unavailable(err error) bool { return api.Refusal(err).Kind == api.KindUnavailable }
