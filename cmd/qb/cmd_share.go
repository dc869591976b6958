package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newShareCommand is qb share.
func newShareCommand() *cobra.Command {
	var o output.ListOptions
	var explain bool
	cmd := &cobra.Command{
		Use: "share [USER]", Short: "Show the fairshare rank of users, and how it is calculated",
		Args:    commandline.WantArgs(0, 1, ""),
		Example: "  qbshare\n  qbshare ada -explain",
		RunE: func(cmd *cobra.Command, words []string) error {
			if explain {
				return explainShare(cmd, o, words)
			}
			return listRows(cmd, "no user has used the farm yet, so there are no fairshare ranks", o, shareColumns,
				api.ListShares, userParam(words))
		},
	}
	cmd.AddCommand(newShareReport())
	o.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&explain, "explain", false,
		"print the calculation of the factor line by line (without USER: yours)")
	return cmd
}

// userParam is the user that the words name, if they name one.
func userParam(words []string) api.Params {
	if len(words) == 0 {
		return nil
	}
	return api.Params{"user": words[0]}
}

var shareColumns = []output.Column[api.Share]{
	{Name: "rank", Right: true},
	{Name: "user"},
	{Name: "account"},
	{Name: "factor", Right: true, Number: output.Formatted("%.3f")},
	{Name: "shares", Right: true, Number: output.Formatted("%.4g")},
	{Name: "entitled", Right: true, Number: output.Percent},
	{Name: "received", Right: true, Number: output.Percent},
	{Name: "usage", Right: true, Member: "usage.total", Number: cpuTime},
	{Name: "cpu", Right: true, Member: "usage.cpu", Number: cpuTime},
	{Name: "ram", Right: true, Member: "usage.ram", Number: cpuTime},
	{Name: "gpu", Right: true, Member: "usage.gpu", Number: cpuTime},
	{Name: "scratch", Right: true, Member: "usage.scratch", Number: cpuTime},
	{Name: "credit", Right: true, Number: output.Formatted("%.4g")},
	{Name: "ahead", Extra: true, Right: true, Number: cpuTime},
	{Name: "base_shares", Extra: true, Right: true, Number: output.Formatted("%.4g")},
}

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

func explainShare(cmd *cobra.Command, o output.ListOptions, words []string) error {
	farm := connect(cmd)
	params := userParam(words)
	if params == nil {
		me, err := call[api.Ping](cmd.Context(), farm, api.PingFarm, nil, nil)
		if err != nil {
			return err
		}
		params = api.Params{"user": me.User}
	}
	all, err := call[[]api.ShareExplanation](cmd.Context(), farm, api.ExplainShare, params, nil)
	if err != nil {
		return err
	}
	if o.Whole() {
		return output.Print(cmd, "", o, nil, output.Rows(all))
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
		b.line("%-12s %9d %14.1f %16.3f %16.3f%s", l.Day.UTC().Format(time.DateOnly), l.Attempts, l.Wall, l.Charge, l.Decayed,
			note)
	}
	b.line("%-54s %16.3f", "sum of what was charged", sum)
	if len(x.Accounts) > 1 {
		b.line("charged to %s", quotedAccounts(x.Accounts))
	}
	if diff := x.Ended - sum; diff > 0.001*max(1, sum) || diff < -0.001*max(1, sum) {
		b.line("%-54s %16.3f", "kept by the farm (the half-life was changed since)", x.Ended)
	}
	b.line("%-54s %16.3f", "+ what runs, so far", x.Running)
	b.line("%-54s %16.3f", "+ what runs, still ahead by the mean of its jobs", x.Ahead)
	b.line("%-54s %16.3f", "= usage that counts", x.Ended+x.Running+x.Ahead)
	b.line("")
	b.line("half-life %s", halfLifeText(x.HalfLife))
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
	b.line("rank      %d; %s", x.Rank, factorEffect(x))
	_, err := io.WriteString(out, string(b))
	return err
}

const mostQuoted = 50 // accounts in a line

// quotedAccounts are accounts as SQL lists them; an empty one is none.
func quotedAccounts(accounts []string) string {
	words := make([]string, 0, len(accounts))
	for _, account := range accounts[:min(len(accounts), mostQuoted)] {
		words = append(words, "'"+strings.ReplaceAll(output.Escape(account), "'", "''")+"'")
	}
	text := strings.Join(words, ", ")
	if more := len(accounts) - mostQuoted; more > 0 {
		text += fmt.Sprintf(" and %d more (-json has all)", more)
	}
	return text
}

// factorEffect says what the factor decides.
func factorEffect(x api.ShareExplanation) string {
	switch {
	case x.Points != 0:
		return fmt.Sprintf("the factor gives each job %.6f × %.10g = %.1f of its points (qb explain JOB has all)", x.Factor,
			x.Points, x.Factor*x.Points)
	case x.Order && x.ByOwner:
		return "the factor ranks owners, in steps of 0.01; a priority orders the owner's own jobs"
	case x.Order:
		return "the factor orders jobs of equal priority, in steps of 0.01"
	}
	return "the factor orders nothing now (supervisor_fairshare = \"off\")"
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

func halfLifeText(seconds float64) string {
	if seconds <= 0 {
		return "none: nothing is forgotten"
	}
	return fmt.Sprintf("%.4g days = %.10g s", seconds/86400, seconds)
}

func newShareReport() *cobra.Command {
	var source, date string
	cmd := &cobra.Command{
		Use: "report", Short: "Report a publication of yours that acknowledges the farm; credit follows when an operator accepts it", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbshare report -source doi:10.1000/182 -date 2026-09-01",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source == "" {
				return api.Errorf(api.KindUsage, "give -source: the publication, such as doi:10.1000/182")
			}
			at, err := parseDay("-date", date)
			if err != nil {
				return err
			}
			return sayChange(cmd, source, api.Report, nil, api.Publication{Source: source, Date: at},
				func(p api.Publication) string {
					return output.Escape(p.Source) + ": " + p.State
				})
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "`DOI` or other name of the publication")
	cmd.Flags().StringVar(&date, "date", "", "`DAY` of the publication, such as 2026-09-01 (default: today)")
	bindRepeat(cmd)
	return cmd
}
