package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// AuditQuery narrows the trail; the newest rows come first.
type AuditQuery struct {
	User   string    // "": everybody's
	Since  time.Time // zero: from the first
	Before int64     // 0: from the newest; else ids below it
	Limit  int       // 0 or more than MaxPage: MaxPage
}

// AuditRow is a row of the trail.
type AuditRow struct {
	ID int64
	facts.AuditFacts
}

func normalAudit(a facts.AuditFacts) facts.AuditFacts {
	for _, s := range []*string{&a.Who, &a.Token, &a.Origin, &a.Verb, &a.Object, &a.Code, &a.Detail, &a.Request} {
		*s = clean(*s)
	}
	a.Detail = cmp.Or(a.Detail, "{}")
	a.At, a.Times = exact(a.At), max(1, a.Times)
	return a
}

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

func scanAudit(row pgx.CollectableRow) (a AuditRow, err error) {
	err = row.Scan(&a.ID, &a.At, &a.Who, &a.Token, &a.Origin, &a.Verb, &a.Object, &a.Outcome, &a.Code, &a.Detail, &a.Request, &a.Times)
	a.At = exact(a.At)
	return a, err
}

// AuditLog lists the trail, the newest rows first.
func (p *Postgres) AuditLog(ctx context.Context, q AuditQuery) ([]AuditRow, error) {
	rows, err := readRows(ctx, p.pool, scanAudit, sqlAuditLog, clean(q.User), unless(exact(q.Since), time.Time{}), q.Before, pageOf(q.Limit))
	if err != nil {
		return nil, fmt.Errorf("reading the audit trail: %w", err)
	}
	return rows, nil
}

// AddAudits adds rows that belong to no commit: refusals and reads.
func (p *Postgres) AddAudits(ctx context.Context, list []facts.AuditFacts) error {
	return p.withAudit(ctx, list, func(pgx.Tx) error { return nil })
}

// withAudit makes a change and the rows that tell of it together.
func (p *Postgres) withAudit(ctx context.Context, list []facts.AuditFacts, change func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := change(tx); err != nil || len(list) == 0 {
			return err
		}
		normal := make([]facts.AuditFacts, len(list))
		for i, a := range list {
			normal[i] = normalAudit(a)
		}
		s := auditStatement(normal)
		if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
			return fmt.Errorf("%s: %w", s.what, Named(err))
		}
		return nil
	})
}

// ForgetAudits removes some of the rows that are older than a moment, and returns how many.
func (p *Postgres) ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error) {
	tag, err := p.pool.Exec(ctx, sqlForgetAudits, exact(before), limit)
	if err != nil {
		return 0, fmt.Errorf("removing old rows of the audit trail: %w", err)
	}
	return tag.RowsAffected(), nil
}

// AuditLog lists the trail, the newest rows first.
func (m *Memory) AuditLog(_ context.Context, q AuditQuery) ([]AuditRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []AuditRow
	for _, a := range slices.Backward(m.audits) {
		if (q.User == "" || a.Who == q.User) && !a.At.Before(exact(q.Since)) && (q.Before == 0 || a.ID < q.Before) && len(rows) < pageOf(q.Limit) {
			rows = append(rows, a)
		}
	}
	return rows, nil
}

// AddAudits adds rows that belong to no commit.
func (m *Memory) AddAudits(_ context.Context, list []facts.AuditFacts) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addAudits(list)
	return nil
}

func (m *Memory) putAudit(a facts.AuditFacts, undo *undoLog) error {
	n := len(m.audits)
	undo.add(func() { m.audits = m.audits[:n] })
	m.addAudits([]facts.AuditFacts{a})
	return nil
}

// addAudits is AddAudits; m.mu is held.
func (m *Memory) addAudits(list []facts.AuditFacts) {
	for _, a := range list {
		last := int64(0)
		if n := len(m.audits); n > 0 {
			last = m.audits[n-1].ID
		}
		m.audits = append(m.audits, AuditRow{last + 1, normalAudit(a)})
	}
}

// ForgetAudits removes some of the rows that are older than a moment.
func (m *Memory) ForgetAudits(_ context.Context, before time.Time, limit int) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.audits) && n < limit && m.audits[n].At.Before(exact(before)) {
		n++
	}
	m.audits = slices.Delete(m.audits, 0, n)
	return int64(n), nil
}
