package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/pause"
	"qb/internal/units"
)

type pingOptions struct {
	asJSON, time   bool
	sleep, timeout units.Span
}

func newPingCommand() *cobra.Command {
	o := pingOptions{timeout: units.Span(5 * time.Second)}
	cmd := &cobra.Command{
		Use: "ping", Short: "Show which supervisor leads, and who you are to it", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbping\n  qbping -time -sleep 2s -timeout 1s",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&o.time, "time", false, "print how long the answer took")
	cmd.Flags().Var(&o.sleep, "sleep", "ask again after `TIME`, until Ctrl-C; no answer ends it (default: ask once)")
	cmd.Flags().Var(&o.timeout, "timeout", "wait for an answer for `TIME`")
	return cmd
}

func (o *pingOptions) run(cmd *cobra.Command) error {
	if o.timeout <= 0 {
		return api.Errorf(api.KindUsage, "-timeout %s: give more than 0, such as 5s", o.timeout)
	}
	for ctx := cmd.Context(); ; {
		limited, cancel := context.WithTimeout(ctx, o.timeout.Std())
		cmd.SetContext(limited)
		err := o.once(cmd)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil && limited.Err() == context.DeadlineExceeded:
			return api.Errorf(api.KindUnavailable, "no answer within %s", o.timeout)
		case err != nil, o.sleep <= 0:
			return err
		}
		if err := pause.For(ctx, o.sleep.Std()); err != nil {
			return err
		}
	}
}

// lagShown is the least lag of a supervisor that is worth a line.
const lagShown = 500 * time.Millisecond

// once asks and prints the answer.
func (o *pingOptions) once(cmd *cobra.Command) error {
	c := connect(cmd)
	asked := time.Now()
	p, err := c.ping()
	if err != nil {
		return err
	}
	took := time.Since(asked)
	if o.asJSON {
		return output.PrintJSON(cmd.OutOrStdout(), p)
	}
	lines := pingLines(c.url, &p)
	if o.time {
		lines = append(lines, fmt.Sprintf("answered in %.1f ms", float64(took.Microseconds())/1000))
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(lines, "\n"))
	return err
}

// pingLines say who answers, and what is wrong with it.
func pingLines(url string, p *api.Ping) []string {
	leads := "does not lead"
	if p.Leader {
		leads = fmt.Sprintf("leads term %d", p.Epoch)
	} else if p.LeaderURL != "" {
		leads = "stands by, " + output.Escape(p.LeaderURL) + " leads"
	}
	lines := []string{fmt.Sprintf("%s: supervisor on %s %s; %d hosts, %d slots; you are %s (%s)",
		url, output.Escape(p.Supervisor), leads, p.Hosts, p.Slots, output.Escape(p.User), p.Role)}
	if p.Trouble != "" {
		lines = append(lines, output.Escape(p.Trouble))
	}
	if p.Promise != "" {
		lines = append(lines, output.Escape(p.Promise))
	}
	if p.Brake != "" {
		lines = append(lines, fmt.Sprintf("brake engaged: %s; qbadmin brake -release ends it", output.Escape(p.Brake)))
	}
	if p.NoPlans != "" {
		lines = append(lines, output.Escape(p.NoPlans)+"; no instances are started until a plan can be made")
	}
	if p.LagSeconds >= lagShown.Seconds() {
		lines = append(lines, fmt.Sprintf("it does not keep up: the oldest report of a worker has waited for %.1f s",
			p.LagSeconds))
	}
	if e := p.LastEnd; e != nil {
		lines = append(lines, fmt.Sprintf("its term %d ended at %s (%s): %s", e.Epoch, e.At.Format(time.RFC3339),
			output.Escape(e.Code), output.Escape(e.Text)))
	}
	if a := p.Audit; a != nil && a.Problems > 0 {
		lines = append(lines, fmt.Sprintf("%d problems: the workers' records differ from the database, by the audit of %s; see qb audit -workers", a.Problems, a.At.Format(time.RFC3339)))
	}
	for _, door := range p.Doors {
		lines = append(lines, output.Escape(door))
	}
	for _, limit := range p.Limits {
		lines = append(lines, output.Escape(limit.Text))
	}
	return lines
}
