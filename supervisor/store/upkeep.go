package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// Upkeep lets history age: attempts of closed jobs become daily sums, later the jobs go too. It works beside the
// term's session, in transactions of its own that hold the epoch for their last moment only, so that commits never
// wait for it. A transaction moves its rows wholly or not at all; after any error a call can be repeated.
type Upkeep interface {
	// Clock tells the time of the database's machine.
	Clock(ctx context.Context) (time.Time, error)
	// Closed lists jobs that ended before a moment and have attempts that are not yet sums, those that ended first
	// first. Those that an unfinished job waits for are not among them, nor those named.
	Closed(ctx context.Context, before time.Time, limit int, without ...facts.JobID) ([]facts.JobID, error)
	// Compact makes one chunk of the jobs' attempts into sums, and what they made of their items into marks. It
	// returns how many attempts; 0 says that nothing is left of them. The farm must have forgotten the jobs. ErrRows
	// says that the rows of one of them cannot become sums.
	Compact(ctx context.Context, c Compaction) (attempts int64, err error)
	// Expired lists jobs that ended before a moment and are wholly compacted.
	Expired(ctx context.Context, before time.Time, limit int) ([]facts.JobID, error)
	// Remove takes those of the jobs that are expired away, with their marks and events, and returns how many.
	Remove(ctx context.Context, epoch int64, before time.Time, jobs []facts.JobID) (int64, error)
	// Gone are those of the jobs that were removed.
	Gone(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error)
	// WithLogs lists jobs that ended before a moment and whose logs were not removed since, those that ended first first.
	// With an owner they are his.
	WithLogs(ctx context.Context, before time.Time, limit int, owner ...string) ([]WithLogs, error)
	// Owners tells whose jobs these are; one without a row is not in it.
	Owners(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]string, error)
	// LogsRemoved notes that the logs of these jobs' attempts are gone; why, if not empty, becomes an event of the farm.
	LogsRemoved(ctx context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error
	// ForgetAudits removes some of the audit trail's rows that are older than a moment, and returns how many.
	ForgetAudits(ctx context.Context, before time.Time, limit int) (int64, error)
	// Ended tells when jobs ended, zero for those that have not; who has no row is not in it.
	Ended(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error)
}

// WithLogs is a job that may have logs.
type WithLogs struct {
	Job facts.JobID
	// Compacted says that the job never runs again and that not all of its attempts have rows.
	Compacted bool
}

// Past is what no longer can be read of a job.
type Past struct {
	Compacted   bool      // attempts of it are daily sums
	LogsRemoved time.Time // when those of its attempts till then were; zero: never
}

// Compaction is a chunk to be compacted.
type Compaction struct {
	Epoch    int64 // of the term in whose name it is done; another one leading is ErrTermOver
	Jobs     []facts.JobID
	Before   time.Time     // only of jobs that ended before it
	At       time.Time     // to be noted as the time of it
	HalfLife time.Duration // of use; 0: nothing decays
	Limit    int           // attempts, but for those of the last item
}

// dayEnd is the moment to which the sums of a day are decayed.
func dayEnd(day time.Time) time.Time { return day.Add(24 * time.Hour) }

// left is the part of a use that is left after an age; beyond 900 half-lives it no longer shrinks, as in Postgres.
func left(age, halfLife time.Duration) float64 {
	if halfLife <= 0 {
		return 1
	}
	return math.Exp2(-min(max(age, 0).Seconds()/halfLife.Seconds(), 900))
}

// Clock tells the time of the database's machine.
func (p *Postgres) Clock(ctx context.Context) (now time.Time, err error) {
	if err = p.pool.QueryRow(ctx, sqlClock).Scan(&now); err != nil {
		return now, fmt.Errorf("reading the database's clock: %w", err)
	}
	return now, nil
}

// Closed lists jobs to compact.
func (p *Postgres) Closed(ctx context.Context, before time.Time, limit int, without ...facts.JobID) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlClosed, exact(before), limit, orEmpty(without))
}

// Expired lists jobs to remove.
func (p *Postgres) Expired(ctx context.Context, before time.Time, limit int) ([]facts.JobID, error) {
	return readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlExpired, exact(before), limit)
}

// WithLogs lists jobs whose logs can be removed.
func (p *Postgres) WithLogs(ctx context.Context, before time.Time, limit int, owner ...string) ([]WithLogs, error) {
	return readRows(ctx, p.pool, pgx.RowToStructByPos[WithLogs], sqlWithLogs, exact(before), limit, cleanAll(owner))
}

// Owners tells whose jobs these are.
func (p *Postgres) Owners(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]string, error) {
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
func (p *Postgres) LogsRemoved(ctx context.Context, epoch int64, jobs []facts.JobID, at time.Time, why string) error {
	err := p.holding(ctx, epoch, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLogsRemoved, jobs, exact(at)); err != nil || why == "" {
			return err
		}
		for _, s := range appendEvents(nil, epoch, []facts.EventFacts{normalEvent(logsEvent(at, why))}) {
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

func logsEvent(at time.Time, why string) facts.EventFacts {
	return facts.EventFacts{At: at, Type: "logs-removed", Item: -1, Instance: -1, Why: facts.Why{Cause: why}}
}

// Past tells what no longer can be read of a job; all zero of a job without a row.
func (p *Postgres) Past(ctx context.Context, job facts.JobID) (past Past, err error) {
	var removed *time.Time
	err = p.pool.QueryRow(ctx, sqlPast, job).Scan(&past.Compacted, &removed)
	if errors.Is(err, pgx.ErrNoRows) {
		return Past{}, nil
	}
	if err != nil {
		return past, fmt.Errorf("reading what is left of job %d: %w", job, err)
	}
	if removed != nil {
		past.LogsRemoved = exact(*removed)
	}
	return past, nil
}

// Gone are those of the jobs that were removed.
func (p *Postgres) Gone(ctx context.Context, jobs []facts.JobID) ([]facts.JobID, error) {
	gone, err := readRows(ctx, p.pool, pgx.RowTo[facts.JobID], sqlGone, jobs)
	if err != nil {
		return nil, fmt.Errorf("reading which jobs were removed: %w", err)
	}
	return gone, nil
}

// Ended tells when jobs ended.
func (p *Postgres) Ended(ctx context.Context, jobs []facts.JobID) (map[facts.JobID]time.Time, error) {
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
			ended[id] = exact(*at)
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
func (p *Postgres) holding(ctx context.Context, epoch int64, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlHoldEpoch, epoch)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("%w: epoch %d is no longer the supervisor's", ErrTermOver, epoch)
		}
		return err
	})
}

// Remove takes expired jobs away.
func (p *Postgres) Remove(ctx context.Context, epoch int64, before time.Time, jobs []facts.JobID) (removed int64, err error) {
	err = p.holding(ctx, epoch, func(tx pgx.Tx) error {
		jobs, err := readRows(ctx, tx, pgx.RowTo[facts.JobID], sqlHoldExpired, jobs, exact(before))
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
