package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Clock tells the time of the database's machine.
func (p *Store) Clock(ctx context.Context) (time.Time, error) {
	now, _, err := readOne(ctx, p.pool, "the database's clock", pgx.RowTo[time.Time], sqlClock)
	return now, err
}

// Closed lists jobs to compact.
func (p *Store) Closed(ctx context.Context, before time.Time, limit int,
	without ...facts.JobID) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, "jobs to compact", pgx.RowTo[facts.JobID], sqlClosed, rules.Exact(before), limit,
		orEmpty(without))
}

// Expired lists jobs to remove.
func (p *Store) Expired(ctx context.Context, before time.Time, limit int) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, "jobs to remove", pgx.RowTo[facts.JobID], sqlExpired, rules.Exact(before), limit)
}

// WithLogs lists jobs whose logs can be removed.
func (p *Store) WithLogs(ctx context.Context, before time.Time, limit int, owner ...string) ([]store.WithLogs, error) {
	return readRows(ctx, p.pool, "jobs with logs", pgx.RowToStructByPos[store.WithLogs], sqlWithLogs, rules.Exact(before),
		limit, rules.CleanAll(owner))
}

// Owners tells whose jobs these are.
func (p *Store) Owners(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]string, error) {
	return readMap[facts.JobID, string](ctx, p.pool, "the owners of jobs", sqlOwners, jobs)
}

// LogsRemoved notes that the logs of jobs are gone.
func (p *Store) LogsRemoved(ctx context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error {
	err := p.holding(ctx, epoch, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLogsRemoved, jobs, rules.Exact(at)); err != nil || why == "" {
			return err
		}
		return eventStatement(epoch, []facts.EventFacts{facts.LogsRemovedEarly(at, why)}).exec(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("noting that the logs of %d jobs were removed: %w", len(jobs), err)
	}
	return nil
}

// Past tells what no longer can be read of a job; all zero of a job without a row.
func (p *Store) Past(ctx context.Context, job facts.JobID) (store.Past, error) {
	past, _, err := readOne(ctx, p.pool, "what is left of a job", pgx.RowToStructByPos[store.Past], sqlPast, job)
	return past, err
}

// WaitFor lists some unfinished jobs that wait for a job.
func (p *Store) WaitFor(ctx context.Context, job facts.JobID) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, "jobs that wait", pgx.RowTo[facts.JobID], sqlWaitFor, job)
}

// Gone returns the given jobs that were removed.
func (p *Store) Gone(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, "which jobs were removed", pgx.RowTo[facts.JobID], sqlGone, jobs)
}

// Ended tells when jobs ended.
func (p *Store) Ended(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error) {
	return readMap[facts.JobID, time.Time](ctx, p.pool, "when jobs ended", sqlEnded, jobs)
}

// holding runs f in a transaction and lets it stand only if the epoch still does. The epoch is held last: the
// leader's next check, which writes that row, then waits for one commit and not for the work.
func (p *Store) holding(ctx context.Context, epoch int64, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlHoldEpoch, epoch)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("%w: epoch %d is no longer the supervisor's", store.ErrTermOver, epoch)
		}
		return err
	})
}

// Remove takes expired jobs away.
func (p *Store) Remove(ctx context.Context, epoch int64, before time.Time, jobs []facts.JobID,
	audit ...facts.AuditFacts) (removed int64, err error) {
	err = p.holding(ctx, epoch, func(tx pgx.Tx) error {
		jobs, err := readRows(ctx, tx, "jobs to remove", pgx.RowTo[facts.JobID], sqlHoldExpired, jobs, rules.Exact(before))
		if err != nil || len(jobs) == 0 {
			return err
		}
		for _, sql := range []string{sqlRemoveMarks, sqlRemoveEvents} {
			if _, err := tx.Exec(ctx, sql, jobs); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, sqlRemove, jobs).Scan(&removed); err != nil {
			return err
		}
		if removed != int64(len(jobs)) {
			return fmt.Errorf("%d of %d compacted jobs still have attempts; see qb audit", len(jobs)-int(removed), len(jobs))
		}
		return auditStatement(audit).exec(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("removing %d jobs: %w", len(jobs), err)
	}
	return removed, nil
}
