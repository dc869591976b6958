package shares

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// maxCSV is the most bytes of a file with credit.
const maxCSV = 1 << 20

// day reads a date; nil if there is none.
func day(what, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, api.Errorf(api.KindUsage, "%s: %q is no day; write it as 2026-09-01", what, output.Escape(text))
	}
	return &at, nil
}

func (s Shell) newReport() *cobra.Command {
	var source, date string
	cmd := &cobra.Command{
		Use: "report", Short: "Report a publication of yours that acknowledges the farm; credit follows when an operator accepts it", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbshare report -source doi:10.1000/182 -date 2026-09-01",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source == "" {
				return api.Errorf(api.KindUsage, "give -source: the publication, such as doi:10.1000/182")
			}
			at, err := day("-date", date)
			if err != nil {
				return err
			}
			return remote.Say(s.Shell, cmd, source, api.Report, nil, api.Publication{Source: source, Date: at}, func(p api.Publication) string {
				return output.Escape(p.Source) + ": " + p.State
			})
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "`DOI` or other name of the publication")
	cmd.Flags().StringVar(&date, "date", "", "`DAY` of the publication, such as 2026-09-01 (default: today)")
	s.BindRepeat(cmd)
	return cmd
}

var publicationColumns = []output.Column[api.Publication]{
	{Name: "source"},
	{Name: "user"},
	{Name: "date"},
	{Name: "state"},
	{Name: "by"},
	{Name: "at"},
}

// newDecide is qbadmin credit accept and reject.
func (s Shell) newDecide(verb string) *cobra.Command {
	accept := verb == "accept"
	use, short, most := "accept SOURCE [AMOUNT]", "Accept a reported publication and give its user credit (default 1)", 2
	if !accept {
		use, short, most = "reject SOURCE", "Reject a reported publication; it may be reported again", 1
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: commandline.WantArgs(1, most, "source"), Example: "  qbadmin credit " + verb + " doi:10.1000/182",
		RunE: func(cmd *cobra.Command, words []string) error {
			req := api.Decision{Source: words[0], Accept: accept}
			if len(words) == 2 {
				var err error
				if req.Amount, err = finite("credit", words[1]); err != nil {
					return err
				}
				if req.Amount == 0 {
					return api.Errorf(api.KindUsage, "credit: 0; use more than 0, or reject the publication")
				}
			}
			return remote.Say(s.Shell, cmd, words[0], api.Decide, nil, req, func(p api.Publication) string {
				return fmt.Sprintf("%s of %s: %s", output.Escape(p.Source), output.Escape(p.User), p.State)
			})
		},
	}
	s.BindRepeat(cmd)
	return cmd
}

func (s Shell) newCreditImport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE.csv", Short: "Give credit to many users, or to none if a line is bad", Args: commandline.WantArgs(1, 1, "file"),
		Long: "Give credit to many users. The file has the columns user, amount, source and date, named in its first line; amount (default 1) and\n" +
			"date (default now) may be missing or empty. All lines are checked first: if one is bad, none is taken.",
		Example: "  qbadmin credit import publications.csv",
		RunE: func(cmd *cobra.Command, words []string) error {
			list, err := readCredits(words[0])
			if err != nil {
				return err
			}
			return remote.Say(s.Shell, cmd, words[0], api.AddCredits, nil, list, func(added []api.Credit) string {
				return fmt.Sprintf("%d entries of credit added", len(added))
			})
		},
	}
	s.BindRepeat(cmd)
	return cmd
}

// readCredits reads a file of credit; all of its bad lines are named.
func readCredits(name string) ([]api.Credit, error) {
	file, err := os.Open(name)
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
		return nil, api.Errorf(api.KindUsage, "%s: no lines below the names of the columns: user,amount,source,date", output.Escape(name))
	}
	place := map[string]int{}
	for n, column := range rows[0] {
		place[strings.ToLower(strings.TrimSpace(column))] = n
		if !slices.Contains([]string{"user", "amount", "source", "date"}, strings.ToLower(strings.TrimSpace(column))) {
			return nil, api.Errorf(api.KindUsage, "%s: the column %q is none of user, amount, source and date", output.Escape(name), output.Escape(column))
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
	c.User, c.Source, c.Amount = cell("user"), cell("source"), 1
	if c.User == "" || c.Source == "" {
		return c, errors.New("no user or no source")
	}
	if text := cell("amount"); text != "" {
		if c.Amount, err = finite("amount", text); err != nil {
			return c, err
		}
	}
	c.Date, err = day("date", cell("date"))
	return c, err
}
