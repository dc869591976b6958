package accounting

import (
	"fmt"
	"time"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// Change is what a person changes in the accounts. The set is closed.
type Change interface {
	make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal)
}

// Changed is what follows from a change.
type Changed struct {
	Rows  []facts.Write
	Event string // its type in the history …
	Text  string // … and what happened
	Reply any
}

// Make makes a change, or refuses it and changes nothing.
func (a *Accounts) Make(now time.Time, c Change, by string) (Changed, *outbox.Refusal) {
	return c.make(a, now, by)
}

// ShareSet gives a place in the tree of shares its shares. Its reply is facts.ShareFacts.
type ShareSet struct {
	Path   string
	Shares float64
}

func (c ShareSet) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	s := facts.ShareFacts{Path: c.Path, Shares: c.Shares, By: by, At: facts.RowTime(now)}
	if r := a.setShare(s); r != nil {
		return Changed{}, r
	}
	return Changed{[]facts.Write{facts.PutShare{Share: s}}, "share-set", fmt.Sprintf("%s has %v shares", s.Path, s.Shares),
		s}, nil
}

// CreditAdded gives an owner credit. Its reply is facts.CreditFacts.
type CreditAdded struct {
	Owner  string
	Amount float64
	Source string
	Date   time.Time // zero: now
}

func (c CreditAdded) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	row := c.row(now, by)
	if r := a.checkCredit(row); r != nil {
		return Changed{}, r
	}
	a.enterCredit(row)
	return Changed{[]facts.Write{facts.AddCredit{Credit: row}}, "credit-added",
		fmt.Sprintf("%s gets %v for %s", row.Owner, row.Amount, row.Source), row}, nil
}

func (c CreditAdded) row(now time.Time, by string) facts.CreditFacts {
	if c.Date.IsZero() {
		c.Date = now
	}
	return facts.CreditFacts{Owner: c.Owner, Amount: c.Amount, Source: c.Source, Date: facts.RowTime(c.Date), By: by,
		AddedAt: facts.RowTime(now)}
}
