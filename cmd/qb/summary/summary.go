package summary

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// Shell is the program that the command belongs to.
type Shell struct {
	remote.Shell
	Unfinished func(cmd *cobra.Command) ([]api.Job, error) // everybody's
}

// Command is qb summary.
func (s Shell) Command() *cobra.Command {
	var list output.ListOptions
	all := tables()
	wanted := make([]bool, len(all))
	var clusters, long bool
	var width int
	cmd := &cobra.Command{
		Use: "summary", Short: "Add up all unfinished jobs in tables", Args: commandline.WantArgs(0, 0, ""),
		Long: "Add up the instances or the items of everybody's unfinished jobs by state. Each option is a table; without one, -pvs.\n" +
			"With -json, -xml, -delimit, -fields or -no-headers one table can be asked for. Only a table for people that is not sorted has a row of totals.",
		Example: "  qbsummary\n  qbsummary -uvw -cvs\n  qbsummary -avw -json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var chosen []table
			for n, t := range all {
				if wanted[n] || clusters && t.option == "cvs" {
					chosen = append(chosen, t)
				}
			}
			if len(chosen) == 0 {
				chosen = all[:1]
			}
			if width < 0 {
				return api.Errorf(api.KindUsage, "-width %d: use 1 or more characters, or 0 for all", width)
			}
			return s.run(cmd, list, chosen, width, long)
		},
	}
	for n, t := range all {
		cmd.Flags().BoolVar(&wanted[n], t.option, false, t.of+" by "+t.by+" and state")
	}
	cmd.Flags().BoolVar(&clusters, "clusters", false, "as -cvs")
	cmd.Flags().BoolVar(&long, "long", false, "a title and a column for each state of Qube's, those that qb has not as 0")
	cmd.Flags().IntVar(&width, "width", 0, "print `N` characters at most of what a row is of, the last ones; 0: all")
	list.Bind(cmd.Flags())
	return cmd
}

func (s Shell) run(cmd *cobra.Command, list output.ListOptions, chosen []table, width int, long bool) error {
	if len(chosen) > 1 && !list.ForPeople() {
		return api.Errorf(api.KindUsage, "-%s and -%s: with -json, -xml, -delimit, -fields and -no-headers give one table", chosen[0].option, chosen[1].option)
	}
	jobs, err := s.Unfinished(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for n, t := range chosen {
		rows, total := t.rows(jobs)
		shorten(rows, width)
		if list.ForPeople() {
			if n > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out, t.heading(long))
			if !list.Ordered() {
				rows = append(rows, total)
			}
		}
		columns := t.columns()
		if long {
			columns = t.longColumns()
		}
		if err := output.Print(output.Part{Writer: out}, "", list, columns, output.Rows(rows)); err != nil {
			return err
		}
	}
	return nil
}

// shorten leaves the last characters of what rows are of: paths differ there.
func shorten(rows []row, width int) {
	for n := range rows {
		if text := []rune(rows[n].Row); width > 0 && len(text) > width {
			rows[n].Row = string(text[len(text)-width:])
		}
	}
}
