package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// EndRow is what a row says of an attempt's end.
type EndRow struct {
	ID       facts.AttemptID
	Host     string
	StateID  string // of the worker's folder when it was given
	State    facts.AttemptState
	EndedAt  *time.Time // nil: it lives
	ExitCode *int64
}

const (
	endRowColumns = `job, item, number, host, state_id, state, ended_at, exit_code`
	sqlEndsSince  = `SELECT ` + endRowColumns + ` FROM attempt WHERE ended_at >= $1 OR ended_at IS NULL`
	sqlEndsOf     = `SELECT ` + endRowColumns + ` FROM attempt WHERE (job, item) IN (SELECT * FROM unnest($1::bigint[], $2::integer[]))`
)

// EndsSince hands each attempt that lives or ended since then to each, in any order.
func EndsSince(ctx context.Context, url string, since time.Time, each func(EndRow)) error {
	return endRows(ctx, url, each, sqlEndsSince, since)
}

// EndsOf hands each attempt of the items to each, in any order.
func EndsOf(ctx context.Context, url string, items []facts.AttemptID, each func(EndRow)) error {
	jobs, numbers := make([]int64, len(items)), make([]int32, len(items))
	for n, id := range items {
		jobs[n], numbers[n] = int64(id.Job), int32(id.Item)
	}
	return endRows(ctx, url, each, sqlEndsOf, jobs, numbers)
}

func endRows(ctx context.Context, url string, each func(EndRow), sql string, args ...any) error {
	return inspect(ctx, url, func(tx pgx.Tx) error {
		var r EndRow
		targets := []any{&r.ID.Job, &r.ID.Item, &r.ID.Number, &r.Host, &r.StateID, &r.State, &r.EndedAt, &r.ExitCode}
		return scanEach(ctx, tx, targets, func() { each(r) }, sql, args...)
	})
}
