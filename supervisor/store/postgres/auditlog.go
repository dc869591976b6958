package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// auditStatement adds rows; they are normal.
func auditStatement(list []facts.AuditFacts) statement {
	return statement{sql: sqlAddAudits, args: []any{list}, writes: len(list), what: "adding to the audit trail"}
}

// AuditLog lists the trail, the newest rows first.
func (p *Store) AuditLog(ctx context.Context, q store.AuditQuery) ([]store.AuditRow, error) {
	return readRows(ctx, p.pool, "the audit trail", pgx.RowToStructByPos[store.AuditRow], sqlAuditLog,
		rules.Clean(q.User), unless(rules.Exact(q.Since), time.Time{}), q.Before, rules.PageOf(q.Limit))
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
		return Named(auditStatement(normal).exec(ctx, tx))
	})
}

// ForgetAudits removes some of the rows that are older than a moment, and returns how many.
func (p *Store) ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error) {
	return p.execute(ctx, "removing old rows of the audit trail", sqlForgetAudits, rules.Exact(before), limit)
}
