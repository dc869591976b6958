package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

func newShareCommand() *cobra.Command {
	var list output.ListOptions
	var explain bool
	cmd := &cobra.Command{
		Use: "share [USER]", Short: "Show the fairshare rank of users, and how it is calculated", Args: wantArgs(0, 1, ""),
		Example: "  qbshare\n  qbshare ada -explain",
		RunE: func(cmd *cobra.Command, words []string) error {
			user := ""
			if len(words) > 0 {
				user = words[0]
			}
			if explain {
				return explainShare(cmd, list, user)
			}
			return listAll(cmd, list, shareColumns, api.ListShares, userParam(user))
		},
	}
	list.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&explain, "explain", false, "print the calculation of the factor line by line (without USER: yours)")
	return cmd
}

func userParam(user string) api.Params {
	if user == "" {
		return nil
	}
	return api.Params{"user": user}
}

var shareColumns = []output.Column[api.Share]{
	{Name: "rank", Right: true},
	{Name: "user"},
	{Name: "account"},
	{Name: "factor", Right: true, Number: formatted("%.3f")},
	{Name: "shares", Right: true, Number: formatted("%.4g")},
	{Name: "entitled", Right: true, Number: percent},
	{Name: "received", Right: true, Number: percent},
	{Name: "usage", Right: true, Member: "usage.total", Number: cpuTime},
	{Name: "cpu", Right: true, Member: "usage.cpu", Number: cpuTime},
	{Name: "ram", Right: true, Member: "usage.ram", Number: cpuTime},
	{Name: "gpu", Right: true, Member: "usage.gpu", Number: cpuTime},
	{Name: "scratch", Right: true, Member: "usage.scratch", Number: cpuTime},
	{Name: "credit", Right: true, Number: formatted("%.4g")},
	{Name: "ahead", Extra: true, Right: true, Number: cpuTime},
	{Name: "base_shares", Extra: true, Right: true, Number: formatted("%.4g")},
}

// formatted writes numbers in a format of package fmt.
func formatted(format string) func(float64) string {
	return func(n float64) string { return fmt.Sprintf(format, n) }
}

func percent(fraction float64) string { return fmt.Sprintf("%.1f%%", 100*fraction) }

// cpuTime writes CPU-equivalent seconds for people.
func cpuTime(seconds float64) string {
	switch {
	case seconds >= 36_000:
		return fmt.Sprintf("%.1fh", seconds/3600)
	case seconds >= 600:
		return fmt.Sprintf("%.1fmin", seconds/60)
	}
	return fmt.Sprintf("%.1fs", seconds)
}

func explainShare(cmd *cobra.Command, list output.ListOptions, user string) error {
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	if user == "" {
		me, err := c.ping()
		if err != nil {
			return err
		}
		user = me.User
	}
	var all []api.ShareExplanation
	if err := c.call(cmd.Context(), api.ExplainShare, api.Params{"user": user}, nil, &all); err != nil {
		return err
	}
	if list.JSON {
		l, err := output.NewLister[api.ShareExplanation](cmd.OutOrStdout(), list, nil)
		if err != nil {
			return err
		}
		if err := l.Add(all...); err != nil {
			return err
		}
		return l.End()
	}
	for _, x := range all {
		if err := printShare(cmd.OutOrStdout(), x); err != nil {
			return err
		}
	}
	return nil
}

// printShare is the sum as a person would add it up.
func printShare(out io.Writer, x api.ShareExplanation) error {
	var b textBuilder
	b.line("%s%s at %s, in CPU-equivalent seconds", output.Escape(x.User), inAccount(x.Account), x.At.Format(time.RFC3339))
	b.line("%-12s %9s %14s %16s %16s", "day", "attempts", "wall", "charge", "left of it now")
	sum := 0.0
	for _, l := range x.Lines {
		note := ""
		if l.Charged {
			sum += l.Decayed
		} else {
			note = "  charged to nobody"
		}
		b.line("%-12s %9d %14.1f %16.3f %16.3f%s", l.Day.UTC().Format(time.DateOnly), l.Attempts, l.Wall, l.Charge, l.Decayed, note)
	}
	b.line("%-54s %16.3f", "sum of what was charged", sum)
	if diff := x.Ended - sum; diff > 0.001*max(1, sum) || diff < -0.001*max(1, sum) {
		b.line("%-54s %16.3f", "kept by the farm (the half-life was changed since)", x.Ended)
	}
	b.line("%-54s %16.3f", "+ what runs, so far", x.Running)
	b.line("%-54s %16.3f", "+ what runs, still ahead by the mean of its jobs", x.Ahead)
	b.line("%-54s %16.3f", "= usage that counts", x.Ended+x.Running+x.Ahead)
	b.line("")
	b.line("half-life %s", halfLife(x.HalfLife))
	b.line("shares    %.6g = %.6g × min(3, 1 + 0.25 × credit %.4g)", x.Shares, x.BaseShares, x.Credit)
	b.line("entitled  %.6f of the farm by shares", x.Entitled)
	whole := 0.0
	if x.Received > 0 {
		whole = (x.Ended + x.Running + x.Ahead) / x.Received
	}
	b.line("received  %.6f of all usage that counts, %.3f; with the account's part %.6f", x.Received, whole, x.Counted)
	if x.Rule == "tree" {
		b.line("factor    %.6f = 2^-(%.6f / %.6f)", x.Factor, x.Counted, x.Entitled)
	} else {
		b.line("factor    %.6f by place: accounts are compared first, by entitled / received", x.Factor)
	}
	b.line("rank      %d; %s", x.Rank, effectOf(x))
	_, err := io.WriteString(out, string(b))
	return err
}

// effectOf says what the factor decides.
func effectOf(x api.ShareExplanation) string {
	switch {
	case x.Points != 0:
		return fmt.Sprintf("the factor gives each job %.6f × %.10g = %.1f of its points (qb explain JOB has all)", x.Factor, x.Points, x.Factor*x.Points)
	case x.Order:
		return "it orders jobs of equal priority, in steps of 0.01"
	}
	return "it orders nothing now (supervisor_fairshare = \"off\")"
}

type textBuilder string

func (b *textBuilder) line(format string, args ...any) {
	*b += textBuilder(fmt.Sprintf(format, args...) + "\n")
}

func inAccount(account string) string {
	if account == "" {
		return ""
	}
	return " in " + output.Escape(account)
}

func halfLife(seconds float64) string {
	if seconds <= 0 {
		return "none: nothing is forgotten"
	}
	return fmt.Sprintf("%.4g days = %.10g s", seconds/86400, seconds)
}
