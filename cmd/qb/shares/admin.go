package shares

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// AdminCommand is qbadmin share.
func (s Shell) AdminCommand() *cobra.Command {
	share := &cobra.Command{Use: "share", Short: "Set or list the shares of users and accounts"}
	var b budgetOptions
	set := &cobra.Command{
		Use: "set NAME [SHARES]", Short: "Set the shares or the budget of a user (ada), an account (show/) or a user in an account (show/ada)",
		Long: "Set the shares (default 1, 0 ranks last) or the budget of a user (ada), an account (show/) or a user in an account (show/ada).\n" +
			"A budget is in hours of CPU equivalents, as qbshare counts usage. With -per it holds for periods of that length, without it for\n" +
			"usage as it decays. A user's budget is for all that the user uses, an account's for all its members and the accounts below it.",
		Args: commandline.WantArgs(1, 2, "name and shares"), Example: "  qbadmin share set ada 2\n  qbadmin share set show/ 10 -budget 5000h -per 30d\n  qbadmin share set ada -budget 200h -over idle\n  qbadmin share set ada -budget none",
		RunE: func(cmd *cobra.Command, words []string) error {
			if b.amount != "" {
				if err := s.setBudget(cmd, words[0], b); err != nil || len(words) == 1 {
					return err
				}
			}
			if len(words) == 1 {
				return api.Errorf(api.KindUsage, "give the shares, such as 2, or -budget")
			}
			n, err := finite("shares", words[1])
			if err != nil {
				return err
			}
			return remote.Say(s.Shell, cmd, words[0], api.SetShare, nil, api.ShareSetting{Path: words[0], Shares: n}, func(set api.ShareSetting) string {
				return fmt.Sprintf("%s: %v shares", output.Escape(set.Path), set.Shares)
			})
		},
	}
	s.BindRepeat(set)
	b.bind(set)
	share.AddCommand(set, remote.Listing(s.Shell, "list", "List shares that are set; all others are 1", "no shares are set, so every user and account has 1", settingColumns, api.ShareSet),
		remote.Listing(s.Shell, "budgets", "List budgets and how far they are used up", "no budgets are set; set one with qbadmin share set", budgetColumns, api.ListBudgets))
	return share
}

// finite reads a number that JSON can carry: neither "nan" nor "inf".
func finite(what, word string) (float64, error) {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, api.Errorf(api.KindUsage, "%s: %q is no number; write one such as 2 or 0.5", what, output.Escape(word))
	}
	return n, nil
}

var settingColumns = []output.Column[api.ShareSetting]{
	{Name: "path"},
	{Name: "shares", Right: true},
	{Name: "by"},
	{Name: "at"},
}

// CreditCommand is qbadmin credit.
func (s Shell) CreditCommand() *cobra.Command {
	credit := &cobra.Command{Use: "credit", Short: "Add or list credit, for publications or delivered shots"}
	var source, date string
	give := &cobra.Command{
		Use: "add USER AMOUNT", Short: "Raise a user's shares by 25 % per point, at most threefold; credit has a half-life of two years",
		Args: commandline.WantArgs(2, 2, "user and amount"), Example: "  qbadmin credit add ada 1 -source \"doi:10.1000/182\" -date 2026-09-01",
		RunE: func(cmd *cobra.Command, words []string) error {
			req := api.Credit{User: words[0], Source: source}
			var err error
			if req.Amount, err = finite("credit", words[1]); err != nil {
				return err
			}
			if source == "" {
				return api.Errorf(api.KindUsage, "give -source: what the credit is for")
			}
			if req.Date, err = day("-date", date); err != nil {
				return err
			}
			return remote.Say(s.Shell, cmd, words[0], api.AddCredit, nil, req, func(c api.Credit) string {
				return fmt.Sprintf("%s: credit %v for %s", output.Escape(c.User), c.Amount, output.Escape(c.Source))
			})
		},
	}
	s.BindRepeat(give)
	give.Flags().StringVar(&source, "source", "", "`TEXT` that names the reason")
	give.Flags().StringVar(&date, "date", "", "`DAY` from which it counts, such as 2026-09-01 (default: now)")
	var o output.ListOptions
	show := &cobra.Command{
		Use: "list [USER]", Short: "List credit, newest first", Args: commandline.WantArgs(0, 1, ""),
		RunE: func(cmd *cobra.Command, words []string) error {
			return remote.List(s.Shell, cmd, "no credit is booked for the users asked for", o, creditColumns, api.ListCredit, userParam(words))
		},
	}
	o.Bind(show.Flags())
	reports := remote.Listing(s.Shell, "reports", "List the publications that users reported", "no publications are reported", publicationColumns, api.Publications)
	credit.AddCommand(give, show, reports, s.newDecide("accept"), s.newDecide("reject"), s.newCreditImport())
	return credit
}

var creditColumns = []output.Column[api.Credit]{
	{Name: "user"},
	{Name: "amount", Right: true},
	{Name: "date"},
	{Name: "source"},
	{Name: "by"},
	{Name: "added_at"},
}
