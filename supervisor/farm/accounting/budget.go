package accounting

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"qb/internal/units"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

const (
	maxBudgets = 10_000
	maxBudget  = 1e12 // CPU-equivalent seconds
	maxPeriod  = 10 * 365 * 24 * time.Hour

	// parts is into how many parts a period is divided. What is used counts until its part is a period old, so at most one
	// part longer than the period.
	parts = 30
)

// What jobs do whose payer is over a budget.
const (
	BeyondWait = "wait"
	BeyondIdle = "idle" // they run on slots that no other job wants
)

// BudgetSet gives a place a budget, or takes it away if the amount is zero. Its reply is facts.BudgetFacts.
type BudgetSet struct {
	Path   string
	Amount float64       // CPU-equivalent seconds
	Period time.Duration // 0: of decayed usage
	Beyond string
}

func (c BudgetSet) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	if err := CheckPath(c.Path); err != nil {
		return Changed{}, outbox.Refused("invalid", "%v", err)
	}
	before, known := a.budgets[c.Path]
	if c.Amount == 0 {
		if !known {
			return Changed{}, outbox.Refused("not-found", "%s has no budget; qbadmin share budgets shows all", c.Path)
		}
		delete(a.budgets, c.Path)
		return Changed{[]facts.Write{facts.DropBudget{Path: c.Path}}, "budget-set", c.Path + " has no budget any more",
			before}, nil
	}
	account := parentOf(c.Path)
	_, listed := a.members.byPath[account]
	switch {
	case account != "" && !listed:
		return Changed{}, coded(CodeAccountUnknown, "invalid",
			"path: there is no account %q; qbadmin account add %s makes it one", account, account)
	case !(c.Amount > 0 && c.Amount <= maxBudget):
		return Changed{}, outbox.Refused("invalid", "budget: %v s; use more than 0, such as 5000h", c.Amount)
	case c.Period != 0 && (c.Period < time.Minute || c.Period > maxPeriod):
		return Changed{}, outbox.Refused("invalid", "per: %s; use 1m to %s, or leave it out for decayed usage",
			units.Span(c.Period), units.Span(maxPeriod))
	case c.Beyond != BeyondWait && c.Beyond != BeyondIdle:
		return Changed{}, outbox.Refused("invalid", "over: %.20q; use wait or idle", c.Beyond)
	case !known && len(a.budgets) >= maxBudgets:
		return Changed{}, outbox.Refused("limit", "there are %d budgets, the limit", maxBudgets)
	}
	row := facts.BudgetFacts{Path: c.Path, Amount: c.Amount, Period: int64(c.Period / time.Second), Beyond: c.Beyond,
		Since: facts.RowTime(now), By: by, At: facts.RowTime(now)}
	if known && before.Period == row.Period {
		row.Since, row.Spent = before.Since, before.Spent
	}
	a.budgets[row.Path] = row
	return Changed{[]facts.Write{facts.PutBudget{Budget: row}}, "budget-set",
		row.Path + " has a budget of " + budgetText(row), row}, nil
}

func budgetText(b facts.BudgetFacts) string {
	text := fmt.Sprintf("%.4g h", b.Amount/3600)
	if b.Period > 0 {
		text += " per " + units.Span(time.Duration(b.Period)*time.Second).String()
	}
	return text
}

// partOf is the length of each part of a budget's period.
func partOf(b facts.BudgetFacts) time.Duration {
	period := time.Duration(b.Period) * time.Second
	return (period/parts + time.Millisecond - 1).Truncate(time.Millisecond) // whole ones, as rows have microseconds
}

// within is the budget's row at a moment: its latest part is the one of that moment, and what is older than the period
// is gone.
func within(b facts.BudgetFacts, at time.Time) facts.BudgetFacts {
	part := partOf(b)
	if b.Period == 0 || at.Before(b.Since.Add(part)) {
		return b
	}
	passed := at.Sub(b.Since) / part
	b.Since = b.Since.Add(passed * part)
	spent := append(make([]float64, min(passed, parts+1)), b.Spent...)
	spent = spent[:min(len(spent), parts+1)]
	for len(spent) > 0 && spent[len(spent)-1] == 0 {
		spent = spent[:len(spent)-1]
	}
	b.Spent = spent
	return b
}

// spentIn is what ended attempts have used in the latest parts of a budget's period, so many of them.
func spentIn(b facts.BudgetFacts, latest int) (sum float64) {
	for _, amount := range b.Spent[:min(latest, len(b.Spent))] {
		sum += amount
	}
	return sum
}

// fitsAt is when a budget of a period that is used up will not be any more, with what runs counted all along.
func fitsAt(b facts.BudgetFacts, running float64) time.Time {
	n := len(b.Spent) - 1
	for n > 0 && spentIn(b, n)+running >= b.Amount {
		n--
	}
	return b.Since.Add(time.Duration(parts+1-max(n, 0)) * partOf(b))
}

// places are those whose budgets a payer's use counts against: the user, the accounts, and the user in the account.
func (a *Accounts) places(p facts.Payer) []string {
	p = a.Place(p)
	list := []string{p.Owner}
	for account := p.Account; account != ""; account = parentOf(account) {
		list = append(list, account+"/")
	}
	if p.Account != "" {
		list = append(list, p.Path())
	}
	return list
}

// Budgeted says whether there are budgets.
func (a *Accounts) Budgeted() bool { return len(a.budgets) > 0 }

// spend enters a charge into the budgets that it counts against.
func (a *Accounts) spend(p facts.Payer, amount float64, at time.Time) {
	for _, path := range a.places(p) {
		if b, has := a.budgets[path]; has && b.Period > 0 {
			b = within(b, at)
			b.Spent = append([]float64{}, b.Spent...)
			if len(b.Spent) == 0 {
				b.Spent = append(b.Spent, 0)
			}
			b.Spent[0] += amount
			a.budgets[path] = b
			if !slices.Contains(a.spent, path) {
				a.spent = append(a.spent, path)
			}
		}
	}
}

// ExceededBudget is a budget that is used up.
type ExceededBudget struct {
	facts.BudgetFacts
	Total float64   // used, with what runs
	Until time.Time // when jobs will fit again if nothing more is used; zero: never
}

// Why is what its jobs wait for.
func (o *ExceededBudget) Why() facts.Why {
	until := "for good"
	p := facts.Params{Path: o.Path, Seconds: math.Round(o.Total), Limit: int64(math.Round(o.Amount))}
	if !o.Until.IsZero() {
		p.Until = o.Until.UTC().Format(time.RFC3339)
		until = "until " + o.Until.UTC().Format("2006-01-02 15:04 UTC")
	}
	what := "waits "
	if o.Beyond == BeyondIdle {
		what = "runs on idle slots only "
	}
	return facts.Why{Reason: facts.ReasonOverBudget, Params: p,
		Cause: fmt.Sprintf("%s%s: %s has used %.4g h of its budget of %s", what, until, o.Path, o.Total/3600,
			budgetText(o.BudgetFacts))}
}

// Budgets are all, as they stand at a moment, by path.
func (a *Accounts) Budgets(now time.Time, running Running) []ExceededBudget {
	if len(a.budgets) == 0 {
		return nil
	}
	sums := map[string]int64{} // whole numbers add up to the same in any order
	add := func(p facts.Payer, amount float64, decayed bool) {
		for _, path := range a.places(p) {
			if b, has := a.budgets[path]; has && (b.Period == 0 || !decayed) {
				sums[path] += int64(math.Round(min(amount, 1e14) * milli))
			}
		}
	}
	for p, u := range a.usage {
		add(p, u.Decayed(now, a.policy.HalfLife).Total(), true)
	}
	for p, r := range running {
		add(p, r.sofar().Total()+float64(r.ahead)/milli, false)
	}
	list := make([]ExceededBudget, 0, len(a.budgets))
	for _, path := range slices.Sorted(maps.Keys(a.budgets)) {
		o := ExceededBudget{BudgetFacts: within(a.budgets[path], now)}
		counted := float64(sums[path]) / milli
		o.Total = spentIn(o.BudgetFacts, len(o.Spent)) + counted
		if o.Period > 0 && o.Total >= o.Amount {
			o.Until = fitsAt(o.BudgetFacts, counted)
		} else if o.Period == 0 && a.policy.HalfLife > 0 && o.Total > 0 {
			left := math.Log2(o.Total/o.Amount) * a.policy.HalfLife.Seconds()
			o.Until = now.Add(time.Duration(math.Ceil(max(left, 0))+1) * time.Second)
		}
		list = append(list, o)
	}
	return list
}

// Exhausted is a budget of a period for which a payer's jobs wait, as ended attempts alone have used it up; nil if
// there is none. Unlike Budgets it costs little.
func (a *Accounts) Exhausted(now time.Time, p facts.Payer) *ExceededBudget {
	for _, path := range a.places(p) {
		b, has := a.budgets[path]
		if !has || b.Period == 0 || b.Beyond != BeyondWait {
			continue
		}
		b = within(b, now)
		if used := spentIn(b, len(b.Spent)); used >= b.Amount {
			return &ExceededBudget{b, used, fitsAt(b, 0)}
		}
	}
	return nil
}

// Barred are the budgets that are used up, by path.
type Barred map[string]*ExceededBudget

// Barred are those budgets that are used up at a moment.
func (a *Accounts) Barred(now time.Time, running Running) Barred {
	barred := Barred{}
	for _, o := range a.Budgets(now, running) {
		if o.Total >= o.Amount {
			barred[o.Path] = &o
		}
	}
	return barred
}

// Bars is the budget that bars a payer's jobs, nil if none does: of several one for which they wait, then the last to
// end.
func (a *Accounts) Bars(barred Barred, p facts.Payer) (by *ExceededBudget) {
	if len(barred) == 0 {
		return nil
	}
	for _, path := range a.places(p) {
		o := barred[path]
		switch {
		case o == nil:
		case by == nil, by.Beyond == BeyondIdle && o.Beyond == BeyondWait:
			by = o
		case by.Beyond == o.Beyond && (o.Until.IsZero() || !by.Until.IsZero() && o.Until.After(by.Until)):
			by = o
		}
	}
	return by
}
