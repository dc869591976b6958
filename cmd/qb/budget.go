package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// budgetOptions are the options that set a budget.
type budgetOptions struct {
	amount, over string
	per          units.Span
}

func (b *budgetOptions) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.amount, "budget", "", "`DURATION` of CPU equivalents that may be used, such as 5000h; none takes the budget away")
	cmd.Flags().Var(&b.per, "per", "`DURATION` before each moment whose usage counts, such as 30d (default: the budget is for usage as it decays)")
	cmd.Flags().StringVar(&b.over, "over", "wait", "what jobs beyond the budget do, as `WORD`: wait, or idle: run on slots that nobody else wants")
}

func setBudget(cmd *cobra.Command, path string, b budgetOptions) error {
	req := api.Budget{Path: path, Remove: b.amount == "none"}
	if !req.Remove {
		var amount units.Span
		if err := amount.Set(b.amount); err != nil || amount <= 0 {
			return api.Errorf(api.KindUsage, "-budget: %q; use more than 0, such as 5000h or 20d, or none to take it away",
				b.amount)
		}
		req.Seconds = amount.Std().Seconds()
		req.Per = int64(b.per.Std() / time.Second)
		req.Over = b.over
	}
	return sayChange(cmd, path, api.SetBudget, nil, req, func(set api.Budget) string {
		text := output.Escape(set.Path) + ": "
		if req.Remove {
			return text + "no budget any more"
		}
		text += fmt.Sprintf("budget %.6g h", set.Seconds/3600)
		if set.Per > 0 {
			text += " per " + budgetPeriod(set)
		}
		return text + "; jobs beyond it: " + set.Over
	})
}

// budgetPeriod is the length of a budget's period, "" without one.
func budgetPeriod(b api.Budget) string {
	if b.Per == 0 {
		return ""
	}
	return units.Span(time.Duration(b.Per) * time.Second).String()
}

var budgetColumns = []output.Column[api.Budget]{
	{Name: "path"},
	{Name: "used", Right: true, Member: "used_seconds", Number: cpuTime},
	{Name: "budget", Right: true, Member: "budget_seconds", Number: cpuTime},
	{Name: "per", Text: budgetPeriod},
	{Name: "until"},
	{Name: "over"},
	{Name: "by", Extra: true},
	{Name: "at", Extra: true},
}
