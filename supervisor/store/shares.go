package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"qb/supervisor/facts"
)

// shareWrites are those of usage, shares and credit in a batch. Of several on one payer or place the last wins; of
// payers those who write them see to that.
type shareWrites struct {
	usage   []facts.UsageFacts
	shares  lastOf[string, facts.ShareFacts]
	credits []facts.CreditFacts
}

// lastOf keeps the last value of each key, in the order in which the keys came.
type lastOf[K comparable, V any] struct {
	place map[K]int
	list  []V
}

func (l *lastOf[K, V]) put(key K, value V) {
	if at, again := l.place[key]; again {
		l.list[at] = value
		return
	}
	if l.place == nil {
		l.place = map[K]int{}
	}
	l.place[key] = len(l.list)
	l.list = append(l.list, value)
}

func (s *shareWrites) add(w facts.Write) error {
	switch w := w.(type) {
	case facts.ChargeUsage:
		u, err := normalUsage(w.Usage)
		s.usage = append(s.usage, u)
		return err
	case facts.PutShare:
		share, err := normalShare(w.Share)
		s.shares.put(share.Path, share)
		return err
	case facts.AddCredit:
		c, err := normalCredit(w.Credit)
		s.credits = append(s.credits, c)
		return err
	}
	return fmt.Errorf("a write of the unknown type %T", w)
}

func normalUsage(u facts.UsageFacts) (facts.UsageFacts, error) {
	u.Account, u.Owner, u.At = clean(u.Account), clean(u.Owner), exact(u.At)
	for _, v := range []float64{u.CPU, u.RAM, u.GPU, u.Scratch} {
		if !(v >= 0) || math.IsInf(v, 0) || u.At.IsZero() {
			return u, fmt.Errorf("usage of %q in %q cannot be %v at %v", u.Owner, u.Account, u.Charge, u.At)
		}
	}
	return u, nil
}

func normalShare(s facts.ShareFacts) (facts.ShareFacts, error) {
	s.Path, s.By, s.At = clean(s.Path), clean(s.By), exact(s.At)
	if s.Path == "" || !(s.Shares >= 0) || s.At.IsZero() {
		return s, fmt.Errorf("%q cannot have %v shares since %v", s.Path, s.Shares, s.At)
	}
	return s, nil
}

func normalCredit(c facts.CreditFacts) (facts.CreditFacts, error) {
	c.Owner, c.Source, c.By, c.Date, c.AddedAt = clean(c.Owner), clean(c.Source), clean(c.By), exact(c.Date), exact(c.AddedAt)
	if c.Owner == "" || !(c.Amount > 0) || c.Date.IsZero() || c.AddedAt.IsZero() {
		return c, fmt.Errorf("%q cannot have credit %v of %v", c.Owner, c.Amount, c.Date)
	}
	return c, nil
}

func (s *shareWrites) appendTo(list []statement) []statement {
	if n := len(s.shares.list); n > 0 {
		path, by, at, shares := make([]string, n), make([]string, n), make([]time.Time, n), make([]float64, n)
		for i, share := range s.shares.list {
			path[i], by[i], at[i], shares[i] = share.Path, share.By, share.At, share.Shares
		}
		list = append(list, statement{sql: sqlPutShares, args: []any{path, shares, by, at}, want: n, what: "writing shares"})
	}
	if n := len(s.credits); n > 0 {
		owner, source, by, amount := make([]string, n), make([]string, n), make([]string, n), make([]float64, n)
		date, added := make([]time.Time, n), make([]time.Time, n)
		for i, c := range s.credits {
			owner[i], source[i], by[i], amount[i], date[i], added[i] = c.Owner, c.Source, c.By, c.Amount, c.Date, c.AddedAt
		}
		list = append(list, statement{sql: sqlAddCredit, args: []any{owner, amount, source, date, by, added}, want: n, what: "adding credit"})
	}
	return list
}

// chargeColumns are the last columns of ends; 0 is null.
func chargeColumns(list []facts.EndAttempt) []any {
	n := len(list)
	v := make([]*float64, 4*n)
	cpu, ram, gpu, scratch, charged := v[:n], v[n:2*n], v[2*n:3*n], v[3*n:], make([]bool, n)
	for i := range list {
		c := &list[i].Charge
		cpu[i], ram[i], gpu[i], scratch[i] = orNull(&c.CPU), orNull(&c.RAM), orNull(&c.GPU), orNull(&c.Scratch)
		charged[i] = list[i].Charged
	}
	return []any{cpu, ram, gpu, scratch, charged}
}

func orNull(v *float64) *float64 {
	if *v == 0 {
		return nil
	}
	return v
}

func chargeOf(c [4]pgtype.Float8) facts.Charge {
	return facts.Charge{CPU: c[0].Float64, RAM: c[1].Float64, GPU: c[2].Float64, Scratch: c[3].Float64}
}

func loadShares(ctx context.Context, tx pgx.Tx, rows *facts.Facts) (err error) {
	if rows.Usage, err = readRows(ctx, tx, scanUsage, sqlLoadUsage); err != nil {
		return fmt.Errorf("reading usage: %w", err)
	}
	if rows.Shares, err = readRows(ctx, tx, scanShare, sqlLoadShares); err != nil {
		return fmt.Errorf("reading shares: %w", err)
	}
	if rows.Credits, err = readRows(ctx, tx, scanCredit, sqlLoadCredit); err != nil {
		return fmt.Errorf("reading credit: %w", err)
	}
	return nil
}

// readRows is nil if there are none.
func readRows[T any](ctx context.Context, q querier, scan func(pgx.CollectableRow) (T, error), sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, scan)
	if len(list) == 0 {
		return nil, err
	}
	return list, err
}

func scanUsage(row pgx.CollectableRow) (u facts.UsageFacts, err error) {
	err = row.Scan(&u.Account, &u.Owner, &u.CPU, &u.RAM, &u.GPU, &u.Scratch, &u.At)
	u.At = exact(u.At)
	return u, err
}

func scanShare(row pgx.CollectableRow) (s facts.ShareFacts, err error) {
	err = row.Scan(&s.Path, &s.Shares, &s.By, &s.At)
	s.At = exact(s.At)
	return s, err
}

func scanCredit(row pgx.CollectableRow) (c facts.CreditFacts, err error) {
	err = row.Scan(&c.Owner, &c.Amount, &c.Source, &c.Date, &c.By, &c.AddedAt)
	c.Date, c.AddedAt = exact(c.Date), exact(c.AddedAt)
	return c, err
}

// LedgerDay is a payer's ended attempts of a day, those that were charged or those that were not. Charge and
// Decayed are CPU-equivalent seconds, Wall is in seconds.
type LedgerDay struct {
	Day      time.Time
	Charged  bool
	Attempts int64
	Wall     float64
	Charge   float64
	Decayed  float64
}

func scanLedger(row pgx.CollectableRow) (d LedgerDay, err error) {
	err = row.Scan(&d.Day, &d.Charged, &d.Attempts, &d.Wall, &d.Charge, &d.Decayed)
	d.Day = exact(d.Day)
	return d, err
}

// Shares lists the places with shares of their own, by path.
func (p *Postgres) Shares(ctx context.Context) ([]facts.ShareFacts, error) {
	return readRows(ctx, p.pool, scanShare, sqlShares, MaxPage)
}

// Credits lists credit, the latest entry first; with an owner only his.
func (p *Postgres) Credits(ctx context.Context, owner string) ([]facts.CreditFacts, error) {
	return readRows(ctx, p.pool, scanCredit, sqlCredits, clean(owner), MaxPage)
}

// Ledger sums a payer's ended attempts by day, decayed to a moment.
func (p *Postgres) Ledger(ctx context.Context, payer facts.Payer, now time.Time, halfLife time.Duration) ([]LedgerDay, error) {
	return readRows(ctx, p.pool, scanLedger, sqlLedger, clean(payer.Owner), clean(payer.Account), exact(now), halfLife.Seconds(), MaxPage)
}
