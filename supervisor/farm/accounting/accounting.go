package accounting

import (
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/job/facts"
)

// Policy is how use is counted and what follows from it.
type Policy struct {
	Accounts        string        // listed or open; else as the farm was made
	Order           bool          // the factor orders jobs
	Weights         bool          // the factor weighs the surplus too
	PE              string        // sum (of the farm's totals) or max (of the host's)
	Rule            string        // tree or fair_tree
	HalfLife        time.Duration // of usage; 0: it never decays
	ChargePreempted bool
}

// Accounts are the usage of all payers, their shares and their credit.
type Accounts struct {
	policy  Policy
	usage   map[facts.Payer]*facts.UsageFacts
	changed []facts.Payer // charged since the last Charged
	dirty   map[facts.Payer]bool
	shares  map[string]facts.ShareFacts
	credit  map[string]facts.UsageFacts // by owner; CPU holds the decayed sum
	credits int

	members      members
	budgets      map[string]facts.BudgetFacts
	credited     credited
	publications map[string]facts.PublicationFacts // by source
	spent        []string                          // budgets that were charged since the last Charged
}

// New returns the accounts that the rows hold.
func New(p Policy, rows facts.Facts) *Accounts {
	a := &Accounts{policy: p, usage: map[facts.Payer]*facts.UsageFacts{}, dirty: map[facts.Payer]bool{},
		shares: map[string]facts.ShareFacts{}, credit: map[string]facts.UsageFacts{},
		members: newMembers(rows.Accounts), budgets: map[string]facts.BudgetFacts{},
		credited: credited{}, publications: map[string]facts.PublicationFacts{}}
	for _, u := range rows.Usage {
		a.usage[u.Payer] = &u
	}
	for _, s := range rows.Shares {
		a.shares[s.Path] = s
	}
	for _, b := range rows.Budgets {
		a.budgets[b.Path] = b
	}
	for _, p := range rows.Publications {
		a.publications[p.Source] = p
	}
	for _, c := range rows.Credits {
		a.enterCredit(c)
	}
	return a
}

// SetPolicy puts another policy into force.
func (a *Accounts) SetPolicy(p Policy) { a.policy = p }

// Charge adds to a payer's usage.
func (a *Accounts) Charge(p facts.Payer, c facts.Charge, at time.Time) {
	u := a.usage[p]
	if u == nil {
		u = &facts.UsageFacts{Payer: p, At: facts.RowTime(at)}
		a.usage[p] = u
	}
	*u = u.Plus(c, at, a.policy.HalfLife)
	a.spend(p, c.Total(), at)
	if !a.dirty[p] {
		a.dirty[p] = true
		a.changed = append(a.changed, p)
	}
}

// Charged calls write with the row of each payer who was charged since the last call.
func (a *Accounts) Charged(write func(facts.Write)) {
	for _, p := range a.changed {
		write(facts.ChargeUsage{Usage: *a.usage[p]})
		delete(a.dirty, p)
	}
	a.changed = a.changed[:0]
	for _, path := range a.spent {
		if b, has := a.budgets[path]; has { // it may have been taken away meanwhile
			write(facts.PutBudget{Budget: b})
		}
	}
	a.spent = a.spent[:0]
}

// Rate is what an instance uses each second, in CPU equivalents of the reference machine: of a host of that speed, or
// of the whole farm, as the policy has it.
func (a *Accounts) Rate(used, host, farm fairshare.Resources, speed float64) fairshare.Resources {
	most := a.policy.PE == "max"
	whole := farm
	if most {
		whole = host
	}
	whole.CPUs = max(whole.CPUs, used.CPUs) // a host that has not said what it has
	r := fairshare.SharesOfEquivalent(used, whole, most)
	return fairshare.Resources{CPUs: r.CPUs * speed, Memory: r.Memory * speed, GPUs: r.GPUs * speed,
		Scratch: r.Scratch * speed}
}

// maxWall is the most seconds that count of one attempt: beyond it the clock is wrong, not the work long.
const maxWall = 1e9

// Bounded is a wall time in seconds, as far as it can be true.
func Bounded(wall float64) float64 {
	if !(wall > 0) { // not a number either
		return 0
	}
	return min(wall, maxWall)
}

// ChargeOf is what so many seconds at a rate come to.
func ChargeOf(rate fairshare.Resources, wall float64) facts.Charge {
	return facts.Charge{CPU: rate.CPUs * wall, RAM: rate.Memory * wall, GPU: rate.GPUs * wall,
		Scratch: rate.Scratch * wall}
}
