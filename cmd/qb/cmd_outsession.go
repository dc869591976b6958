package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/output"
)

// instancesAtOnce is how many instances one word may name for -session.
const instancesAtOnce = 1000

// printSessions prints what programs of load-once jobs wrote between two items.
func (o *outOptions) printSessions(cmd *cobra.Command, targets []target) error {
	for _, name := range []string{"attempt", "follow", "sleep", "pos"} {
		if cmd.Flags().Changed(name) {
			return api.Errorf(api.KindUsage, "-%s is of an item's output; -session prints all that is there of an instance",
				name)
		}
	}
	type instance struct {
		job    int64
		number int
	}
	var named []instance
	for _, t := range targets {
		if t.instances == "" {
			return api.Errorf(api.KindUsage, "-session %s: name an instance as JOB.NUMBER such as %d.0; qbinstances and the list of attempts have the numbers",
				t.word, t.job)
		}
		spans, _ := agenda.ParseNumbers(t.instances) // parseTarget has
		for _, span := range spans {
			if span.Last-span.First >= instancesAtOnce {
				return api.Errorf(api.KindUsage, "-session %s: name at most %d instances at a time", t.word, instancesAtOnce)
			}
			for n := span.First; n <= span.Last; n++ {
				named = append(named, instance{t.job, n})
			}
		}
	}
	c := connect(cmd)
	if err := c.found(); err != nil {
		return err
	}
	for _, one := range named {
		name, heading := fmt.Sprintf("%d.%d", one.job, one.number), ""
		if len(named) > 1 {
			heading = fmt.Sprintf("==> %s <==\n", name)
		}
		params := jobParam(one.job)
		params["instance"] = strconv.Itoa(one.number)
		if err := o.printSession(cmd, c, params, name, heading); err != nil {
			return err
		}
	}
	return nil
}

func (o *outOptions) printSession(cmd *cobra.Command, c *client, params api.Params, name, heading string) (err error) {
	ctx, stop := output.WhileRead(cmd.Context(), cmd.OutOrStdout())
	defer stop()
	resp, err := c.Open(ctx, api.SessionLog, params, nil, nil)
	if err != nil {
		return err
	}
	defer func() { resp.Body.Close() }()
	if c.others && resp.Header.Get(api.ElsewhereHeader) != "" {
		if other := c.openElsewhere(ctx, api.SessionLog, params, "instance "+name); other != nil {
			resp.Body.Close()
			resp = other
		}
	}
	p, closePrinter := o.printer(cmd, "")
	body := bufio.NewReader(resp.Body)
	if _, none := body.Peek(1); none == nil {
		_, err = io.WriteString(p.out, heading)
	}
	if err == nil {
		_, err = io.Copy(p, body)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err = errors.Join(err, closePrinter()); err != nil {
		return fmt.Errorf("printing the session's log of %s: %w", name, err)
	}
	if p.at == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"instance %s has no session's log: only programs of jobs of type loadonce have one, and only if they wrote between two items or ended there\n",
			name)
	}
	return nil
}
