package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newSummaryCommand is qb summary.
func newSummaryCommand() *cobra.Command {
	var list output.ListOptions
	all := summaryTables()
	wanted := make([]bool, len(all))
	var clusters, long bool
	var width int
	cmd := &cobra.Command{
		Use: "summary", Short: "Add up all unfinished jobs in tables", Args: commandline.WantArgs(0, 0, ""),
		Long: "Add up the instances or the items of everybody's unfinished jobs by state. Each option is a table; without one, -pvs.\n" +
			"With -json, -xml, -delimit, -fields or -no-headers one table can be asked for. Only a table for people that is not sorted has a row of totals.",
		Example: "  qbsummary\n  qbsummary -uvw -cvs\n  qbsummary -avw -json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var chosen []summaryTable
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
			return runSummary(cmd, list, chosen, width, long)
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

func runSummary(cmd *cobra.Command, list output.ListOptions, chosen []summaryTable, width int, long bool) error {
	if len(chosen) > 1 && !list.ForPeople() {
		return api.Errorf(api.KindUsage, "-%s and -%s: with -json, -xml, -delimit, -fields and -no-headers give one table",
			chosen[0].option, chosen[1].option)
	}
	jobs, err := everybodysUnfinished(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for n, t := range chosen {
		rows, total := t.rows(jobs)
		shortenRows(rows, width)
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
		if err := output.Print(output.PartialOutput{Writer: out}, "", list, columns, output.Rows(rows)); err != nil {
			return err
		}
	}
	return nil
}

// shortenRows leaves the last characters of what rows are of: paths differ there.
func shortenRows(rows []summaryRow, width int) {
	for n := range rows {
		if text := []rune(rows[n].Row); width > 0 && len(text) > width {
			rows[n].Row = string(text[len(text)-width:])
		}
	}
}
