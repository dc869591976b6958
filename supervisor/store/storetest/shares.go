package storetest

import (
	"cmp"
	"maps"
	"slices"

	"qb/supervisor/job/facts"
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
	return memoryShares{usage: map[facts.Payer]facts.UsageFacts{}, shares: map[string]facts.ShareFacts{},
		accounts: map[string]facts.AccountFacts{},
		budgets:  map[string]facts.BudgetFacts{}, publications: map[string]facts.PublicationFacts{}}
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
	rows.Shares = byKey(m.shares)
	rows.Accounts = byKey(m.accounts)
	rows.Budgets = byKey(m.budgets)
	rows.Publications = byKey(m.publications)
	rows.Credits = append([]facts.CreditFacts(nil), m.credits...)
}

// byKey lists the rows of a table in the order of their keys.
func byKey[K cmp.Ordered, V any](table map[K]V) (rows []V) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		rows = append(rows, table[key])
	}
	return rows
}
