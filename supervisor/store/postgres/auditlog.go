package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// auditStatement adds rows.
func auditStatement(list []facts.AuditFacts) statement {
	normal := make([]facts.AuditFacts, len(list))
	for n := range list {
		normal[n] = rules.NormalAudit(list[n])
	}
	return statement{sql: sqlAddAudits, args: []any{normal}, writes: len(list), lasting: true, what: "adding to the audit trail"}
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
		return Named(auditStatement(list).exec(ctx, tx))
	})
}

// ForgetAudits removes some of the rows that are older than a moment, and returns how many.
func (p *Store) ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error) {
	return p.execute(ctx, "removing old rows of the audit trail", sqlForgetAudits, rules.Exact(before), limit)
}
