package rules

import (
	"fmt"

	"qb/supervisor/job/facts"
)

// ShareWrites are the writes of usage, shares and credit in a batch. Of several writes on one path the last wins; for
// payers the caller ensures that.
type ShareWrites struct {
	Usage   []facts.UsageFacts
	Shares  LastOf[string, facts.ShareFacts]
	Credits []facts.CreditFacts
	// Accounts are by path; one without a time is to be deleted.
	Accounts LastOf[string, facts.AccountFacts]
	// Budgets are by path, too; a budget without a time is to be deleted.
	Budgets      LastOf[string, facts.BudgetFacts]
	Publications LastOf[string, facts.PublicationFacts]
}

// Add takes in one of them; it is refused if it cannot be.
func (s *ShareWrites) Add(w facts.Write) error {
	switch w := w.(type) {
	case facts.ChargeUsage:
		u, err := normalUsage(w.Usage)
		s.Usage = append(s.Usage, u)
		return err
	case facts.PutShare:
		share, err := normalShare(w.Share)
		s.Shares.Put(share.Path, share)
		return err
	case facts.AddCredit:
		c, err := normalCredit(w.Credit)
		s.Credits = append(s.Credits, c)
		return err
	case facts.PutAccount:
		row, err := normalAccount(w.Account)
		s.Accounts.Put(row.Path, row)
		return err
	case facts.PutBudget:
		row, err := normalBudget(w.Budget)
		s.Budgets.Put(row.Path, row)
		return err
	case facts.DropBudget:
		s.Budgets.Put(Clean(w.Path), facts.BudgetFacts{Path: Clean(w.Path)})
		return nil
	case facts.PutPublication:
		row, err := normalPublication(w.Publication)
		s.Publications.Put(row.Source, row)
		return err
	case facts.DropAccount:
		s.Accounts.Put(Clean(w.Path), facts.AccountFacts{Path: Clean(w.Path)})
		return nil
	}
	return fmt.Errorf("a write of the unknown type %T", w)
}

// LastOf keeps the last value of each key, in the order in which the keys came.
type LastOf[K comparable, V any] struct {
	place map[K]int
	List  []V
}

// Put sets the value of a key.
func (l *LastOf[K, V]) Put(key K, value V) {
	if at, again := l.place[key]; again {
		l.List[at] = value
		return
	}
	if l.place == nil {
		l.place = map[K]int{}
	}
	l.place[key] = len(l.List)
	l.List = append(l.List, value)
}
