package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/units"
)

type outOptions struct {
	stream  string
	attempt int
	follow  bool
	sleep   units.Seconds // between two looks; 0: output is followed as it comes
	pos     int64
	both    bool
	raw     bool
	session bool
}

// newOutCommand makes `qb out` or `qb err`, for one of the two streams of an item's output.
func newOutCommand(name, stream string) *cobra.Command {
	o := outOptions{stream: stream}
	cmd := &cobra.Command{
		Use: name + " JOB[:ITEM]…", Short: "Print the " + stream + " of items",
		Long: "Print the " + stream +
			" of the latest attempt of each item. Without :ITEM: all items of the job that have\nrun, in agenda order.",
		Example: fmt.Sprintf("  qb%s 12:7\n  qb%s 12:7 -follow\n  qb%s 12:7 -attempt 1", name, name, name),
		Args:    commandline.WantArgs(1, -1, "job id"),
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words) },
	}
	cmd.Flags().BoolVar(&o.follow, "follow", false, "follow the output until the item ends")
	cmd.Flags().Var(&o.sleep, "sleep", "with -follow, look for new output every `SECONDS`; 0: print it as it comes")
	cmd.Flags().IntVar(&o.attempt, "attempt", 0, "number `N` of the attempt, from 1 (default: the latest)")
	cmd.Flags().Int64Var(&o.pos, "pos", 0, "begin each log behind its first `BYTES`")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "do not filter control sequences when printing to a terminal")
	cmd.Flags().BoolVar(&o.both, "both", false, "print stdout and stderr together, in the order written")
	if name == "out" {
		cmd.Use = name + " JOB[:ITEM]…|-session JOB.INSTANCE…"
		cmd.Flags().BoolVar(&o.session, "session", false,
			"print what programs of load-once jobs wrote between two items, stdout and stderr, and why they ended there")
	}
	return cmd
}

func (o *outOptions) run(cmd *cobra.Command, words []string) error {
	if o.attempt < 0 {
		return api.Errorf(api.KindUsage, "-attempt %d: attempts count from 1", o.attempt)
	}
	if o.pos < 0 {
		return api.Errorf(api.KindUsage, "-pos %d: give the number of bytes to leave out, 0 or more", o.pos)
	}
	if o.sleep < 0 || o.sleep > 0 && !o.follow {
		return api.Errorf(api.KindUsage,
			"-sleep is the pause between two looks of -follow: give both, and a pause of 0 or more seconds")
	}
	targets, all, err := parseTargets(words)
	if err != nil {
		return err
	}
	if all {
		return api.Errorf(api.KindUsage, "0 is no job; name the job whose output you want")
	}
	if o.session {
		return o.printSessions(cmd, targets)
	}
	for _, t := range targets {
		if t.instances != "" {
			return api.Errorf(api.KindUsage, "%q names an instance; output is of items: name one as JOB:ITEM such as %d:25, or give qbout -session",
				t.word, t.job)
		}
	}
	c := connect(cmd)
	if err := c.found(); err != nil {
		return err
	}
	for _, t := range targets {
		if t.items != "" {
			err = o.printOne(cmd, c, t.job, t.items)
		} else {
			err = o.printJob(cmd, c, t.job)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printJob prints the items that have run, each under a heading if there are several.
func (o *outOptions) printJob(cmd *cobra.Command, c *client, job int64) error {
	var ran []string
	total, only := 0, ""
	err := c.eachItem(cmd.Context(), job, func(items ...api.Item) error {
		for _, item := range items {
			total, only = total+1, item.Name
			if item.Attempt > 0 || item.Status == "complete" || item.Status == "failed" { // old attempts have no rows
				ran = append(ran, item.Name)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(ran) == 0 && o.follow && total == 1 {
		return o.printOne(cmd, c, job, only)
	}
	if len(ran) == 0 {
		return api.Errorf(api.KindNotFound, "no item of job %d has run yet", job)
	}
	if o.follow && len(ran) > 1 {
		return api.Errorf(api.KindUsage, "-follow needs one item, such as %d:%s; job %d has %d that ran", job,
			output.Escape(ran[0]), job, len(ran))
	}
	if len(ran) == 1 {
		return o.printOne(cmd, c, job, ran[0])
	}
	missing, silent, first := 0, 0, error(nil)
	for _, name := range ran {
		wrote, err := o.print(cmd, c, job, name, fmt.Sprintf("==> %d:%s <==\n", job, output.Escape(name)))
		switch {
		case err == nil && !wrote:
			silent++
		case isKind(err, api.KindNotFound):
			missing, first = missing+1, cmp.Or(first, err)
		case err != nil:
			return err
		}
	}
	if silent > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d items of job %d have written nothing%s; qbitems %d shows how they ended\n",
			silent, len(ran), job, o.where(), job)
	}
	if missing > 0 && missing < len(ran) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d items have no output to show: %v\n", missing, len(ran), first)
		return nil
	}
	return first
}

// open opens the output; who follows an item that has not begun waits for its begin.
func (o *outOptions) open(ctx context.Context, c *client, params api.Params) (*http.Response, error) {
	for {
		resp, err := c.Open(ctx, api.ItemLog, params, nil, nil)
		if err == nil || !o.follow || !isKind(err, api.KindNotFound) {
			return resp, err
		}
		waits, lookErr := c.waits(ctx, params["job"], params["item"])
		if lookErr != nil {
			return nil, lookErr
		}
		if !waits {
			return nil, err
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

// waits says whether an item has not begun, yet still may.
func (c *client) waits(ctx context.Context, job, item string) (bool, error) {
	found, err := call[api.ItemReply](ctx, c, api.GetItem, api.Params{"job": job, "item": item}, nil)
	return found.Item.Attempt == 0 && slices.Contains([]string{"pending", "blocked", "running"}, found.Item.Status), err
}

// printOne prints an item's output, or says that it has written none, and how it ended.
func (o *outOptions) printOne(cmd *cobra.Command, c *client, job int64, item string) error {
	wrote, err := o.print(cmd, c, job, item, "")
	if wrote || err != nil {
		return err
	}
	params := jobParam(job)
	params["item"] = item
	found, err := call[api.ItemReply](cmd.Context(), c, api.GetItem, params, nil)
	text := fmt.Sprintf("item %s of job %d has written nothing%s", item, job, o.where())
	switch is := found.Item; {
	case err != nil || o.attempt > 0 && o.attempt != is.Attempt:
	case is.FinishedAt == nil:
		text += " yet; it is " + is.Status
	case is.Reason != "":
		text += fmt.Sprintf("; it is %s: %s", is.Status, is.Reason)
	default:
		text += "; it is " + is.Status
	}
	fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(text))
	return nil
}

// where names the stream that is printed.
func (o *outOptions) where() string {
	text := " to its " + o.stream
	if o.both {
		text = ""
	}
	if o.pos > 0 {
		text += fmt.Sprintf(" behind byte %d", o.pos)
	}
	return text
}

// print prints an item's output, under the heading if there is any to print. wrote says whether there was.
func (o *outOptions) print(cmd *cobra.Command, c *client, job int64, item, heading string) (wrote bool, err error) {
	params := api.Params{"job": strconv.FormatInt(job, 10), "item": item, "stream": o.stream,
		"attempt": strconv.Itoa(o.attempt),
		"follow":  strconv.FormatBool(o.follow), "offset": strconv.FormatInt(o.pos, 10)}
	if o.both {
		params["stream"] = "both"
	}
	ctx, stop := output.WhileRead(cmd.Context(), cmd.OutOrStdout())
	defer stop()
	p, closePrinter := o.printer(cmd, heading)
	err = o.printLog(ctx, c, params, p, poller{client: c, errOut: cmd.ErrOrStderr()})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return p.at > o.pos, errors.Join(err, closePrinter())
}

// printer makes the printer of a log, and what is to be called at its end.
func (o *outOptions) printer(cmd *cobra.Command, heading string) (p *logPrinter, finish func() error) {
	p = &logPrinter{out: cmd.OutOrStdout(), heading: heading, at: o.pos}
	if o.raw || !output.IsTerminal(p.out) {
		return p, func() error { return nil }
	}
	filter := output.NewTerminalFilter(p.out) // without what a terminal would act on
	p.out = filter
	return p, filter.Close
}

// logPrinter prints one log, over as many answers as it takes.
type logPrinter struct {
	out     io.Writer
	heading string // printed if there is a log
	at      int64  // byte of the log that is printed next
	err     error  // of printing, not of reading

	idle *time.Timer // runs while nothing comes; nil: no one asks
}

func (p *logPrinter) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if p.idle != nil {
		p.idle.Reset(lookFor)
	}
	p.at, p.err = p.at+int64(n), err
	return n, err
}

// How long a look for new output waits for more of it, and for the answer before that.
const (
	lookFor  = time.Second
	openedIn = 15 * time.Second
)

// look has read print until nothing has come for a while; more is true if the log may go on.
func (o *outOptions) look(ctx context.Context, p *logPrinter, read func(context.Context) error) (more bool, err error) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	p.idle = time.AfterFunc(openedIn, stop)
	defer p.idle.Stop()
	if err = read(looking); err != nil && looking.Err() != nil && ctx.Err() == nil && p.err == nil {
		return true, nil
	}
	return false, err
}

// printLog prints to the log's end. Who follows goes on where it broke off when the supervisor is back.
func (o *outOptions) printLog(ctx context.Context, c *client, params api.Params, p *logPrinter, waiter poller) error {
	read := func(ctx context.Context) error {
		resp, err := o.open(ctx, c, params)
		if err != nil {
			return err
		}
		defer func() { resp.Body.Close() }()
		if p.idle != nil {
			p.idle.Reset(lookFor)
		}
		waiter.away = time.Time{}
		params["attempt"] = resp.Header.Get(api.AttemptHeader)
		if c.others && resp.Header.Get(api.ElsewhereHeader) != "" {
			if other := c.openElsewhere(ctx, api.ItemLog, params, "item "+params["job"]+":"+params["item"]); other != nil {
				resp.Body.Close()
				resp = other
			}
		}
		_, p.err = io.WriteString(p.out, p.heading)
		if p.heading = ""; p.err == nil {
			_, err = io.Copy(p, resp.Body)
		}
		switch {
		case p.err != nil:
			return fmt.Errorf("printing the output: %w", p.err)
		case err != nil:
			return api.Errorf(api.KindUnavailable, "the output of %s:%s broke off: %v", params["job"],
				output.Escape(params["item"]), err)
		}
		return nil
	}
	for {
		every, more, err := lookEvery, false, error(nil)
		if o.sleep > 0 {
			every = time.Duration(o.sleep) * time.Second
			more, err = o.look(ctx, p, read)
		} else {
			err = read(ctx)
		}
		if !o.follow {
			return err
		}
		again, err := waiter.look(func() error { return err })
		if !again && !more {
			return err
		}
		if err := pause.For(ctx, every); err != nil {
			return err
		}
		params["offset"] = strconv.FormatInt(p.at, 10)
	}
}
