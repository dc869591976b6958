package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newAdminShare is qbadmin share.
func newAdminShare() *cobra.Command {
	share := &cobra.Command{Use: "share", Short: "Set or list the shares of users and accounts"}
	var b budgetOptions
	set := &cobra.Command{
		Use: "set NAME [SHARES]", Short: "Set the shares or the budget of a user (ada), an account (show/) or a user in an account (show/ada)",
		Long: "Set the shares (default 1, 0 ranks last) or the budget of a user (ada), an account (show/) or a user in an account (show/ada).\n" +
			"A budget is in hours of CPU equivalents, as qbshare counts usage. With -per it holds for periods of that length, without it for\n" +
			"usage as it decays. A user's budget is for all that the user uses, an account's for all its members and the accounts below it.",
		Args:    commandline.WantArgs(1, 2, "name and shares"),
		Example: "  qbadmin share set ada 2\n  qbadmin share set show/ 10 -budget 5000h -per 30d\n  qbadmin share set ada -budget 200h -over idle\n  qbadmin share set ada -budget none",
		RunE: func(cmd *cobra.Command, words []string) error {
			if b.amount != "" {
				if err := setBudget(cmd, words[0], b); err != nil || len(words) == 1 {
					return err
				}
			}
			if len(words) == 1 {
				return api.Errorf(api.KindUsage, "give the shares, such as 2, or -budget")
			}
			n, err := finiteNumber("shares", words[1])
			if err != nil {
				return err
			}
			return sayChange(cmd, words[0], api.SetShare, nil, api.ShareSetting{Path: words[0], Shares: n},
				func(set api.ShareSetting) string {
					return fmt.Sprintf("%s: %v shares", output.Escape(set.Path), set.Shares)
				})
		},
	}
	bindRepeat(set)
	b.bind(set)
	share.AddCommand(set, newListing("list", "List shares that are set; all others are 1",
		"no shares are set, so every user and account has 1", shareSettingColumns, api.ShareSet),
		newListing("budgets", "List budgets and how far they are used up",
			"no budgets are set; set one with qbadmin share set", budgetColumns, api.ListBudgets))
	return share
}

// finiteNumber reads a number that JSON can carry: neither "nan" nor "inf".
func finiteNumber(what, word string) (float64, error) {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, api.Errorf(api.KindUsage, "%s: %q is no number; write one such as 2 or 0.5", what, word)
	}
	return n, nil
}

var shareSettingColumns = []output.Column[api.ShareSetting]{
	{Name: "path"},
	{Name: "shares", Right: true},
	{Name: "by"},
	{Name: "at"},
}
