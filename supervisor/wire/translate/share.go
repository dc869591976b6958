package translate

import (
	"math"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// Share is the place of a user in an account, on the wire.
func Share(o accounting.OwnerShare) api.Share {
	u := api.ShareUsage{CPU: o.Usage.CPU + o.Running.CPU, RAM: o.Usage.RAM + o.Running.RAM,
		GPU: o.Usage.GPU + o.Running.GPU, Scratch: o.Usage.Scratch + o.Running.Scratch}
	u.Total = u.CPU + u.RAM + u.GPU + u.Scratch
	return api.Share{
		User: o.Owner, Account: o.Account, Shares: o.Effective, BaseShares: o.Shares, Entitled: o.Entitled,
		Received: o.Received,
		Usage:    u, Ahead: o.Ahead, Factor: o.Factor, Rank: o.Rank, Credit: o.Credit,
	}
}

// ShareSetting is what was set for a path in the tree of shares, on the wire.
func ShareSetting(s facts.ShareFacts) api.ShareSetting {
	return api.ShareSetting{Path: s.Path, Shares: s.Shares, By: s.By, At: timeOrNil(s.At)}
}

// Credit is an entry of credit on the wire.
func Credit(c facts.CreditFacts) api.Credit {
	return api.Credit{User: c.Owner, Amount: c.Amount, Source: c.Source, Date: timeOrNil(c.Date), By: c.By,
		AddedAt: timeOrNil(c.AddedAt)}
}

// checkSpec refuses a speed that would charge nonsense.
func checkSpec(spec float64) error {
	if !(spec >= 0 && spec <= maxSpec) || math.IsNaN(spec) {
		return problem.Invalid("spec", "%v; use more than 0, at most %d; 1 is the reference", spec, maxSpec)
	}
	return nil
}

// checkAccount takes a path in the tree of shares, without a slash at its ends.
func checkAccount(account string) error {
	if account == "" {
		return nil
	}
	if strings.HasSuffix(account, "/") || accounting.CheckPath(account) != nil {
		return problem.Invalid("account",
			"%q; write a path such as show/shot, without a slash at its ends and without . or .. in it", problem.Clip(account))
	}
	return CheckName("account", account)
}

const maxSpec = 1_000_000

// Account is an account, on the wire.
func Account(a facts.AccountFacts) api.Account {
	return api.Account{Path: a.Path, Users: a.Users, Groups: a.Groups, DefaultFor: a.DefaultFor, By: a.By,
		At: timeOrNil(a.At)}
}

// Budget is a budget on the wire, without how far it is used up.
func Budget(b facts.BudgetFacts) api.Budget {
	return api.Budget{Path: b.Path, Seconds: b.Amount, Per: b.Period, Over: b.Beyond, By: b.By, At: timeOrNil(b.At)}
}

// BudgetEnd is when jobs of a budget that is used up will fit again.
func BudgetEnd(o accounting.ExceededBudget) *time.Time {
	if o.Total < o.Amount {
		return nil
	}
	return timeOrNil(o.Until)
}

// Period is the length of a period of a budget.
func Period(seconds int64) (time.Duration, error) {
	if seconds < 0 || seconds > math.MaxInt64/int64(time.Second) {
		return 0, problem.Invalid("per_seconds", "%d; use 60 or more, or 0 for usage as it decays", seconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

// Publication is a publication on the wire.
func Publication(p facts.PublicationFacts) api.Publication {
	return api.Publication{Source: p.Source, User: p.Owner, Date: timeOrNil(p.Date), State: p.State, By: p.By,
		At: timeOrNil(p.At)}
}
