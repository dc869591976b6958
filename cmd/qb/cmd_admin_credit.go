package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
)

// newAdminCredit is qbadmin credit.
func newAdminCredit() *cobra.Command {
	credit := &cobra.Command{Use: "credit", Short: "Add or list credit, for publications or delivered shots"}
	var source, date string
	give := &cobra.Command{
		Use: "add USER AMOUNT", Short: "Raise a user's shares by 25 % per point, at most threefold; credit has a half-life of two years",
		Args:    commandline.WantArgs(2, 2, "user and amount"),
		Example: "  qbadmin credit add ada 1 -source \"doi:10.1000/182\" -date 2026-09-01",
		RunE: func(cmd *cobra.Command, words []string) error {
			req := api.Credit{User: words[0], Source: source}
			var err error
			if req.Amount, err = finiteNumber("credit", words[1]); err != nil {
				return err
			}
			if source == "" {
				return api.Errorf(api.KindUsage, "give -source: what the credit is for")
			}
			if req.Date, err = parseDay("-date", date); err != nil {
				return err
			}
			return sayChange(cmd, words[0], api.AddCredit, nil, req, func(c api.Credit) string {
				return fmt.Sprintf("%s: credit %v for %s", output.Escape(c.User), c.Amount, output.Escape(c.Source))
			})
		},
	}
	bindRepeat(give)
	give.Flags().StringVar(&source, "source", "", "`TEXT` that names the reason")
	give.Flags().StringVar(&date, "date", "", "`DAY` from which it counts, such as 2026-09-01 (default: now)")
	var o output.ListOptions
	show := &cobra.Command{
		Use: "list [USER]", Short: "List credit, newest first", Args: commandline.WantArgs(0, 1, ""),
		RunE: func(cmd *cobra.Command, words []string) error {
			return listRows(cmd, "no credit is booked for the users asked for", o, creditColumns, api.ListCredit,
				userParam(words))
		},
	}
	o.Bind(show.Flags())
	reports := newListing("reports", "List the publications that users reported", "no publications are reported",
		publicationColumns, api.Publications)
	credit.AddCommand(give, show, reports, newAdminCreditDecide("accept"), newAdminCreditDecide("reject"),
		newAdminCreditImport())
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

// maxCSV is the most bytes of a file with credit.
const maxCSV = 1 << 20

var publicationColumns = []output.Column[api.Publication]{
	{Name: "source"},
	{Name: "user"},
	{Name: "date"},
	{Name: "state"},
	{Name: "by"},
	{Name: "at"},
}

// newAdminCreditDecide is qbadmin credit accept and reject.
func newAdminCreditDecide(verb string) *cobra.Command {
	accept := verb == "accept"
	use, short, most := "accept SOURCE [AMOUNT]", "Accept a reported publication and give its user credit (default 1)", 2
	if !accept {
		use, short, most = "reject SOURCE", "Reject a reported publication; it may be reported again", 1
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: commandline.WantArgs(1, most, "source"), Example: "  qbadmin credit " + verb +
			" doi:10.1000/182",
		RunE: func(cmd *cobra.Command, words []string) error {
			req := api.Decision{Source: words[0], Accept: accept}
			if len(words) == 2 {
				var err error
				if req.Amount, err = finiteNumber("credit", words[1]); err != nil {
					return err
				}
				if req.Amount == 0 {
					return api.Errorf(api.KindUsage, "credit: 0; use more than 0, or reject the publication")
				}
			}
			return sayChange(cmd, words[0], api.Decide, nil, req, func(p api.Publication) string {
				return fmt.Sprintf("%s of %s: %s", output.Escape(p.Source), output.Escape(p.User), p.State)
			})
		},
	}
	bindRepeat(cmd)
	return cmd
}

func newAdminCreditImport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE.csv", Short: "Give credit to many users, or to none if a line is bad",
		Args: commandline.WantArgs(1, 1, "file"),
		Long: "Give credit to many users. The file has the columns user, amount, source and date, named in its first line; amount (default 1) and\n" +
			"date (default now) may be missing or empty. All lines are checked first: if one is bad, none is taken.",
		Example: "  qbadmin credit import publications.csv",
		RunE: func(cmd *cobra.Command, words []string) error {
			list, err := readCredits(words[0])
			if err != nil {
				return err
			}
			return sayChange(cmd, words[0], api.AddCredits, nil, list, func(added []api.Credit) string {
				return fmt.Sprintf("%d entries of credit added", len(added))
			})
		},
	}
	bindRepeat(cmd)
	return cmd
}

// readCredits reads a file of credit; all of its bad lines are named.
func readCredits(name string) ([]api.Credit, error) {
	file, err := statedir.OpenNamed(name)
	if err != nil {
		return nil, api.Errorf(api.KindUsage, "%v", err)
	}
	defer file.Close()
	limited := &io.LimitedReader{R: file, N: maxCSV + 1}
	rows, err := csv.NewReader(limited).ReadAll()
	switch {
	case limited.N == 0:
		return nil, api.Errorf(api.KindUsage, "%s: larger than 1 MiB; import it in parts", output.Escape(name))
	case err != nil:
		return nil, api.Errorf(api.KindUsage, "%s: %v", output.Escape(name), err)
	case len(rows) < 2:
		return nil, api.Errorf(api.KindUsage, "%s: no lines below the names of the columns: user,amount,source,date",
			output.Escape(name))
	}
	place := map[string]int{}
	for n, column := range rows[0] {
		place[strings.ToLower(strings.TrimSpace(column))] = n
		if !slices.Contains([]string{"user", "amount", "source", "date"}, strings.ToLower(strings.TrimSpace(column))) {
			return nil, api.Errorf(api.KindUsage, "%s: the column %q is none of user, amount, source and date",
				output.Escape(name), column)
		}
	}
	var list []api.Credit
	var bad []error
	for n, row := range rows[1:] {
		c, err := creditOf(place, row)
		if err != nil {
			bad = append(bad, fmt.Errorf("entry %d: %w", n+1, err))
		}
		list = append(list, c)
	}
	if err := errors.Join(bad[:min(len(bad), 20)]...); err != nil {
		return nil, api.Errorf(api.KindUsage, "%v\n%d bad entries; nothing was taken", err, len(bad))
	}
	return list, nil
}

func creditOf(place map[string]int, row []string) (c api.Credit, err error) {
	cell := func(column string) string {
		if n, has := place[column]; has {
			return strings.TrimSpace(row[n])
		}
		return ""
	}
	c.User = cell("user")
	c.Source = cell("source")
	c.Amount = 1
	if c.User == "" || c.Source == "" {
		return c, errors.New("no user or no source")
	}
	if text := cell("amount"); text != "" {
		if c.Amount, err = finiteNumber("amount", text); err != nil {
			return c, err
		}
	}
	c.Date, err = parseDay("date", cell("date"))
	return c, err
}

// parseDay reads a date; nil if there is none.
func parseDay(what, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, api.Errorf(api.KindUsage, "%s: %q is no day; write it as 2026-09-01", what, text)
	}
	return &at, nil
}
