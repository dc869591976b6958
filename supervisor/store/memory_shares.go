package store

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"qb/supervisor/farm"
)

// memoryShares are the rows of usage, shares and credit.
type memoryShares struct {
	usage   map[farm.Payer]farm.UsageFacts
	shares  map[string]farm.ShareFacts
	credits []farm.CreditFacts
}

func newMemoryShares() memoryShares {
	return memoryShares{usage: map[farm.Payer]farm.UsageFacts{}, shares: map[string]farm.ShareFacts{}}
}

func (m *memoryShares) apply(w farm.Write, undo *undoLog) error {
	var batch shareWrites
	if err := batch.add(w); err != nil {
		return err
	}
	for _, u := range batch.usage.list {
		put(undo, m.usage, u.Payer, u)
	}
	for _, s := range batch.shares.list {
		put(undo, m.shares, s.Path, s)
	}
	n := len(m.credits)
	undo.add(func() { m.credits = m.credits[:n] })
	m.credits = append(m.credits, batch.credits...)
	return nil
}

func (m *memoryShares) load(facts *farm.Facts) {
	for _, u := range m.usage {
		facts.Usage = append(facts.Usage, u)
	}
	slices.SortFunc(facts.Usage, func(a, b farm.UsageFacts) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Owner, b.Owner))
	})
	facts.Shares, facts.Credits = m.list(), append([]farm.CreditFacts(nil), m.credits...)
}

func (m *memoryShares) list() (list []farm.ShareFacts) {
	for _, path := range slices.Sorted(maps.Keys(m.shares)) {
		list = append(list, m.shares[path])
	}
	return list
}

// Shares lists the places with shares of their own, by path.
func (m *Memory) Shares(context.Context) ([]farm.ShareFacts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.shares.list()
	return list[:min(len(list), MaxPage)], nil
}

// Credits lists credit, the latest entry first; with an owner only his.
func (m *Memory) Credits(_ context.Context, owner string) (list []farm.CreditFacts, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range slices.Backward(m.shares.credits) {
		if owner == "" || c.Owner == clean(owner) {
			list = append(list, c)
		}
	}
	return list[:min(len(list), MaxPage)], nil
}

// Ledger sums a payer's ended attempts by day, decayed to a moment.
func (m *Memory) Ledger(_ context.Context, payer farm.Payer, now time.Time, halfLife time.Duration) ([]LedgerDay, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var days lastOf[LedgerDay, LedgerDay]
	for _, j := range m.jobs {
		if j.facts.User != payer.Owner || j.facts.Account != payer.Account {
			continue
		}
		for _, a := range j.all() {
			if a.State.Live() || a.Owner != payer.Owner {
				continue
			}
			key := LedgerDay{Day: a.EndedAt.Truncate(24 * time.Hour), Charged: a.Charged}
			d := key
			if at, known := days.place[key]; known {
				d = days.list[at]
			}
			left := 1.0
			if halfLife > 0 {
				left = math.Exp2(-max(exact(now).Sub(a.EndedAt), 0).Seconds() / halfLife.Seconds())
			}
			d.Attempts++
			d.Wall, d.Charge, d.Decayed = d.Wall+a.Wall, d.Charge+a.Charge.Total(), d.Decayed+a.Charge.Total()*left
			days.put(key, d)
		}
	}
	slices.SortFunc(days.list, func(a, b LedgerDay) int {
		if a.Charged != b.Charged && a.Day.Equal(b.Day) {
			return map[bool]int{true: -1, false: 1}[a.Charged]
		}
		return a.Day.Compare(b.Day)
	})
	return days.list[:min(len(days.list), MaxPage)], nil
}
