package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Clock tells the time of the database's machine.
func (p *Store) Clock(ctx context.Context) (now time.Time, err error) {
	if err = p.pool.QueryRow(ctx, sqlClock).Scan(&now); err != nil {
		return now, fmt.Errorf("reading the database's clock: %w", err)
	}
	return now, nil
}

// Closed lists jobs to compact.
func (p *Store) Closed(ctx context.Context, before time.Time, limit int, without ...facts.JobID) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlClosed, rules.Exact(before), limit, orEmpty(without))
}

// Expired lists jobs to remove.
func (p *Store) Expired(ctx context.Context, before time.Time, limit int) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlExpired, rules.Exact(before), limit)
}

// store.WithLogs lists jobs whose logs can be removed.
func (p *Store) WithLogs(ctx context.Context, before time.Time, limit int, owner ...string) ([]store.WithLogs, error) {
	return readRows(ctx, p.pool, pgx.RowToStructByPos[store.WithLogs], sqlWithLogs, rules.Exact(before), limit, rules.CleanAll(owner))
}

// Owners tells whose jobs these are.
func (p *Store) Owners(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]string, error) {
	rows, err := p.pool.Query(ctx, sqlOwners, jobs)
	if err != nil {
		return nil, fmt.Errorf("reading the owners of jobs: %w", err)
	}
	owners := map[facts.JobID]string{}
	var id facts.JobID
	var owner string
	if _, err = pgx.ForEachRow(rows, []any{&id, &owner}, func() error { owners[id] = owner; return nil }); err != nil {
		return nil, fmt.Errorf("reading the owners of jobs: %w", err)
	}
	return owners, nil
}

// LogsRemoved notes that the logs of jobs are gone.
func (p *Store) LogsRemoved(ctx context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error {
	err := p.holding(ctx, epoch, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLogsRemoved, jobs, rules.Exact(at)); err != nil || why == "" {
			return err
		}
		for _, s := range appendEvents(nil, epoch, []facts.EventFacts{rules.NormalEvent(rules.LogsEvent(at, why))}) {
			if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("noting that the logs of %d jobs were removed: %w", len(jobs), err)
	}
	return nil
}

// Past tells what no longer can be read of a job; all zero of a job without a row.
func (p *Store) Past(ctx context.Context, job facts.JobID) (past store.Past, err error) {
	var removed *time.Time
	err = p.pool.QueryRow(ctx, sqlPast, job).Scan(&past.Compacted, &removed)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Past{}, nil
	}
	if err != nil {
		return past, fmt.Errorf("reading what is left of job %d: %w", job, err)
	}
	if removed != nil {
		past.LogsRemoved = rules.Exact(*removed)
	}
	return past, nil
}

// Gone are those of the jobs that were removed.
func (p *Store) Gone(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) {
	gone, err := readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlGone, jobs)
	if err != nil {
		return nil, fmt.Errorf("reading which jobs were removed: %w", err)
	}
	return gone, nil
}

// Ended tells when jobs ended.
func (p *Store) Ended(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error) {
	rows, err := p.pool.Query(ctx, sqlEnded, jobs)
	if err != nil {
		return nil, fmt.Errorf("reading when jobs ended: %w", err)
	}
	ended := map[facts.JobID]time.Time{}
	var id facts.JobID
	var at *time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		ended[id] = time.Time{}
		if at != nil {
			ended[id] = rules.Exact(*at)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading when jobs ended: %w", err)
	}
	return ended, nil
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
func (p *Store) Remove(ctx context.Context, epoch int64, before time.Time, jobs []facts.JobID) (removed int64, err error) {
	err = p.holding(ctx, epoch, func(tx pgx.Tx) error {
		jobs, err := readRows(ctx, tx, pgx.RowTo[facts.JobID], sqlHoldExpired, jobs, rules.Exact(before))
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
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("removing %d jobs: %w", len(jobs), err)
	}
	return removed, nil
}
