package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// auditStatement adds rows; they are normal.
func auditStatement(list []facts.AuditFacts) statement {
	n := len(list)
	at, times, text := make([]time.Time, n), make([]int64, n), make([][]string, 9)
	for i := range text {
		text[i] = make([]string, n)
	}
	for i, a := range list {
		at[i], times[i] = a.At, a.Times
		for k, s := range []string{a.Who, a.Token, a.Origin, a.Verb, a.Object, a.Outcome, a.Code, a.Detail, a.Request} {
			text[k][i] = s
		}
	}
	args := []any{at}
	for _, column := range text {
		args = append(args, column)
	}
	return statement{sql: sqlAddAudits, args: append(args, times), want: n, what: "adding to the audit trail"}
}

func scanAudit(row pgx.CollectableRow) (a store.AuditRow, err error) {
	err = row.Scan(&a.ID, &a.At, &a.Who, &a.Token, &a.Origin, &a.Verb, &a.Object, &a.Outcome, &a.Code, &a.Detail, &a.Request, &a.Times)
	a.At = rules.Exact(a.At)
	return a, err
}

// AuditLog lists the trail, the newest rows first.
func (p *Store) AuditLog(ctx context.Context, q store.AuditQuery) ([]store.AuditRow, error) {
	rows, err := readRows(ctx, p.pool, scanAudit, sqlAuditLog, rules.Clean(q.User), unless(rules.Exact(q.Since), time.Time{}), q.Before, rules.PageOf(q.Limit))
	if err != nil {
		return nil, fmt.Errorf("reading the audit trail: %w", err)
	}
	return rows, nil
}

// AddAudits adds rows that belong to no commit: refusals and reads.
func (p *Store) AddAudits(ctx context.Context, list []facts.AuditFacts) error {
	return p.withAudit(ctx, list, func(pgx.Tx) error { return nil })
}

// withAudit makes a change and the rows that tell of it together.
func (p *Store) withAudit(ctx context.Context, list []facts.AuditFacts, change func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := change(tx); err != nil || len(list) == 0 {
			return err
		}
		normal := make([]facts.AuditFacts, len(list))
		for i, a := range list {
			normal[i] = rules.NormalAudit(a)
		}
		s := auditStatement(normal)
		if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
			return fmt.Errorf("%s: %w", s.what, Named(err))
		}
		return nil
	})
}

// ForgetAudits removes some of the rows that are older than a moment, and returns how many.
func (p *Store) ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error) {
	tag, err := p.pool.Exec(ctx, sqlForgetAudits, rules.Exact(before), limit)
	if err != nil {
		return 0, fmt.Errorf("removing old rows of the audit trail: %w", err)
	}
	return tag.RowsAffected(), nil
}
