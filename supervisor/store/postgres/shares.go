package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

func appendShares(list []statement, s *rules.ShareWrites) []statement {
	if n := len(s.Shares.List); n > 0 {
		path, by, at, shares := make([]string, n), make([]string, n), make([]time.Time, n), make([]float64, n)
		for i, share := range s.Shares.List {
			path[i], by[i], at[i], shares[i] = share.Path, share.By, share.At, share.Shares
		}
		list = append(list, statement{sql: sqlPutShares, args: []any{path, shares, by, at}, want: n, what: "writing shares"})
	}
	if n := len(s.Credits); n > 0 {
		owner, source, by, amount := make([]string, n), make([]string, n), make([]string, n), make([]float64, n)
		date, added := make([]time.Time, n), make([]time.Time, n)
		for i, c := range s.Credits {
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
	u.At = rules.Exact(u.At)
	return u, err
}

func scanShare(row pgx.CollectableRow) (s facts.ShareFacts, err error) {
	err = row.Scan(&s.Path, &s.Shares, &s.By, &s.At)
	s.At = rules.Exact(s.At)
	return s, err
}

func scanCredit(row pgx.CollectableRow) (c facts.CreditFacts, err error) {
	err = row.Scan(&c.Owner, &c.Amount, &c.Source, &c.Date, &c.By, &c.AddedAt)
	c.Date, c.AddedAt = rules.Exact(c.Date), rules.Exact(c.AddedAt)
	return c, err
}

func scanLedger(row pgx.CollectableRow) (d store.LedgerDay, err error) {
	err = row.Scan(&d.Day, &d.Charged, &d.Attempts, &d.Wall, &d.Charge, &d.Decayed)
	d.Day = rules.Exact(d.Day)
	return d, err
}

// Shares lists the places with shares of their own, by path.
func (p *Store) Shares(ctx context.Context) ([]facts.ShareFacts, error) {
	return readRows(ctx, p.pool, scanShare, sqlShares, store.MaxPage)
}

// Credits lists credit, the latest entry first; with an owner only his.
func (p *Store) Credits(ctx context.Context, owner string) ([]facts.CreditFacts, error) {
	return readRows(ctx, p.pool, scanCredit, sqlCredits, rules.Clean(owner), store.MaxPage)
}

// Ledger sums a payer's ended attempts by day, decayed to a moment.
func (p *Store) Ledger(ctx context.Context, payer facts.Payer, now time.Time, halfLife time.Duration) ([]store.LedgerDay, error) {
	return readRows(ctx, p.pool, scanLedger, sqlLedger, rules.Clean(payer.Owner), rules.Clean(payer.Account), rules.Exact(now), halfLife.Seconds(), store.MaxPage)
}
