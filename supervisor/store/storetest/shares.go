package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// memoryShares are the rows of usage, shares and credit.
type memoryShares struct {
	usage        map[facts.Payer]facts.UsageFacts
	shares       map[string]facts.ShareFacts
	credits      []facts.CreditFacts
	accounts     map[string]facts.AccountFacts
	budgets      map[string]facts.BudgetFacts
	publications map[string]facts.PublicationFacts
}

func newMemoryShares() memoryShares {
	return memoryShares{usage: map[facts.Payer]facts.UsageFacts{}, shares: map[string]facts.ShareFacts{}, accounts: map[string]facts.AccountFacts{},
		budgets: map[string]facts.BudgetFacts{}, publications: map[string]facts.PublicationFacts{}}
}

func (m *memoryShares) apply(w facts.Write, undo *undoLog) error {
	var batch rules.ShareWrites
	if err := batch.Add(w); err != nil {
		return err
	}
	for _, u := range batch.Usage {
		put(undo, m.usage, u.Payer, u)
	}
	for _, s := range batch.Shares.List {
		put(undo, m.shares, s.Path, s)
	}
	for _, a := range batch.Accounts.List {
		if a.At.IsZero() {
			remove(undo, m.accounts, a.Path)
		} else {
			put(undo, m.accounts, a.Path, a)
		}
	}
	for _, b := range batch.Budgets.List {
		if b.At.IsZero() {
			remove(undo, m.budgets, b.Path)
		} else {
			put(undo, m.budgets, b.Path, b)
		}
	}
	for _, p := range batch.Publications.List {
		put(undo, m.publications, p.Source, p)
	}
	save(undo, &m.credits)
	m.credits = append(m.credits, batch.Credits...)
	return nil
}

func (m *memoryShares) load(rows *facts.Facts) {
	for _, u := range m.usage {
		rows.Usage = append(rows.Usage, u)
	}
	slices.SortFunc(rows.Usage, func(a, b facts.UsageFacts) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Owner, b.Owner))
	})
	rows.Shares, rows.Credits = m.list(), append([]facts.CreditFacts(nil), m.credits...)
	for _, path := range slices.Sorted(maps.Keys(m.accounts)) {
		rows.Accounts = append(rows.Accounts, m.accounts[path])
	}
	for _, path := range slices.Sorted(maps.Keys(m.budgets)) {
		rows.Budgets = append(rows.Budgets, m.budgets[path])
	}
	for _, source := range slices.Sorted(maps.Keys(m.publications)) {
		rows.Publications = append(rows.Publications, m.publications[source])
	}
}

func (m *memoryShares) list() (list []facts.ShareFacts) {
	for _, path := range slices.Sorted(maps.Keys(m.shares)) {
		list = append(list, m.shares[path])
	}
	return list
}

// Shares lists the places with shares of their own, by path.
func (m *Memory) Shares(context.Context) ([]facts.ShareFacts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.shares.list()
	return page(list), nil
}

// Credits lists credit, the latest entry first; with an owner only his.
func (m *Memory) Credits(_ context.Context, owner string) (list []facts.CreditFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range slices.Backward(m.shares.credits) {
		if owner == "" || c.Owner == rules.Clean(owner) {
			list = append(list, c)
		}
	}
	return page(list), nil
}

// Ledger sums an owner's ended attempts in the accounts by day, decayed to a moment.
func (m *Memory) Ledger(_ context.Context, owner string, accounts []string, now time.Time, halfLife time.Duration) ([]store.LedgerDay, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	type key struct {
		day     time.Time
		charged bool
	}
	days := map[key]store.LedgerDay{}
	enter := func(day time.Time, charged bool, attempts int64, wall, used, decayed float64) {
		d := days[key{day, charged}]
		days[key{day, charged}] = store.LedgerDay{Day: day, Charged: charged, Attempts: d.Attempts + attempts,
			Wall: d.Wall + wall, Charge: d.Charge + used, Decayed: d.Decayed + decayed}
	}
	for _, j := range m.jobs {
		if j.facts.User != owner || !slices.Contains(accounts, j.facts.Account) {
			continue
		}
		for _, a := range j.all() {
			if !a.State.Live() && a.Owner == owner {
				k, d := asDay(j.facts, a)
				enter(k.day, k.charged, 1, d.wall, d.used.Total(), d.used.Total()*left(rules.Exact(now).Sub(a.EndedAt), halfLife))
			}
		}
	}
	for k, d := range m.history.days {
		if k.owner == owner && slices.Contains(accounts, k.account) {
			enter(k.day, k.charged, d.attempts, d.wall, d.used.Total(), d.left.Total()*left(rules.Exact(now).Sub(dayEnd(k.day)), halfLife))
		}
	}
	list := slices.SortedFunc(maps.Values(days), func(a, b store.LedgerDay) int {
		if a.Charged != b.Charged && a.Day.Equal(b.Day) {
			return map[bool]int{true: -1, false: 1}[a.Charged]
		}
		return a.Day.Compare(b.Day)
	})
	return page(list), nil
}
