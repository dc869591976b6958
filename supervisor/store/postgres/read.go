package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Jobs lists jobs, newest first.
func (p *Store) Jobs(ctx context.Context, q store.JobQuery) ([]facts.JobView, error) {
	var l jobList
	err := snapshot(ctx, p.pool, func(tx pgx.Tx) error {
		var err error
		if l, err = readJobs(ctx, tx, q); err != nil || len(l.ids) == 0 {
			return err
		}
		sums, err := jobNumbers(ctx, tx, l.ids, q.Quantile)
		if err != nil {
			return err
		}
		for i, id := range l.ids {
			l.views[l.places[i]] = rules.ViewOf(q, l.jobs[i], sums[id])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return l.views, nil
}

// jobList is a page of jobs of which some are still to be counted.
type jobList struct {
	views  []facts.JobView
	ids    []facts.JobID // of those to be counted
	jobs   []rules.CountedJob
	places []int // in views
}

// readJobs reads a page of rows. It counts each agenda as its row comes, so that a list holds one long range at a time:
// a thousand of 1 MB would be 1 GB.
func readJobs(ctx context.Context, tx pgx.Tx, q store.JobQuery) (l jobList, err error) {
	rows, err := tx.Query(ctx, sqlJobs, q.IDs, rules.Clean(q.User), q.States, q.Before, rules.PageOf(q.Limit), q.Brief,
		rules.Clean(q.Name), rules.Clean(q.Cluster), rules.CleanTags(q.Tags).Map())
	if err != nil {
		return l, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := pgx.RowToStructByName[jobRow](rows)
		if err != nil {
			return l, err
		}
		row := r.facts()
		view, known := rules.Known(q, row)
		if !known {
			l.ids, l.jobs, l.places = append(l.ids, row.ID), append(l.jobs, rules.CountJob(q, row)), append(l.places, len(l.views))
		}
		l.views = append(l.views, view)
	}
	return l, rows.Err()
}

func jobNumbers(ctx context.Context, tx pgx.Tx, ids []facts.JobID, quantile float64) (map[facts.JobID]rules.Numbers, error) {
	sums := make(map[facts.JobID]rules.Numbers, len(ids))
	rows, err := tx.Query(ctx, sqlJobNumbers, ids)
	if err != nil {
		return nil, err
	}
	var id facts.JobID
	var n rules.Numbers
	var least, most string
	m := &n.Memory
	_, err = pgx.ForEachRow(rows, []any{&id, &n.Running, &n.Complete, &n.Killed, &n.Failed, &least, &most, &n.StartedAt, &n.MeanWall,
		&m.Returned, &m.Peak, &m.Largest, &m.RanOut, &m.Out}, func() error {
		n.StartedAt = rules.Exact(n.StartedAt)
		n.Failure = facts.Failure{}
		if least == most {
			n.Failure = failureOf(least)
		}
		sums[id] = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	if quantile > 0 && quantile < 1 {
		if rows, err = tx.Query(ctx, sqlPeakQuantiles, ids, quantile); err != nil {
			return nil, err
		}
		var peak int64
		_, err = pgx.ForEachRow(rows, []any{&id, &peak}, func() error {
			n := sums[id]
			n.Memory.Peak = peak
			sums[id] = n
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if rows, err = tx.Query(ctx, sqlCompactedNumbers, ids); err != nil {
		return nil, err
	}
	var old rules.CompactedNumbers
	o := &old.Memory
	_, err = pgx.ForEachRow(rows, []any{&id, &old.FirstStart, &old.DoneWall, &old.DoneCount,
		&o.Returned, &o.Peak, &o.Largest, &o.RanOut, &o.Out}, func() error {
		n := sums[id]
		n.Enter(old)
		sums[id] = n
		old.FirstStart = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rows, err = tx.Query(ctx, sqlMarkNumbers, ids); err != nil {
		return nil, err
	}
	var kind facts.MarkKind
	var items int
	_, err = pgx.ForEachRow(rows, []any{&id, &kind, &items}, func() error {
		n := sums[id]
		n.Mark(kind, items)
		sums[id] = n
		return nil
	})
	return sums, err
}

// failureOf reads failureText; a text without a reason, as of older rows, says nothing.
func failureOf(text string) (f facts.Failure) {
	if n, err := fmt.Sscanf(text, "%s %d %d", &f.Reason, &f.ExitCode, &f.Signal); err != nil || n < 3 {
		return facts.Failure{}
	}
	return f
}

// Facts is the row of a job; nil if there is none.
func (p *Store) Facts(ctx context.Context, id facts.JobID) (*facts.JobFacts, error) {
	rows, err := queryAll[jobRow](ctx, p.pool, sqlJob, id)
	if err != nil {
		return nil, fmt.Errorf("reading job %d: %w", id, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return new(rows[0].facts()), nil
}

// Record gives a job with everything that happened to it to r, the attempts as they come, so that a million of them are
// never in memory at once.
func (p *Store) Record(ctx context.Context, id facts.JobID, r facts.Recorder) (found bool, err error) {
	err = snapshot(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlForRecord); err != nil {
			return err
		}
		jobs, err := loadJobs(ctx, tx, sqlJob, id)
		if err != nil || len(jobs.records) == 0 {
			return err
		}
		record := jobs.records[0]
		if err := tx.QueryRow(ctx, sqlIsCompacted, id).Scan(&record.Compacted); err != nil {
			return err
		}
		found = true
		if err = r.Begin(record); err != nil {
			return err
		}
		scanner := newAttemptScanner()
		err = each(ctx, tx, sqlRecordAttempts, []any{id}, func(rows pgx.Rows) error {
			a, err := scanner.scan(rows)
			if err != nil {
				return err
			}
			return r.Add(a)
		})
		if err != nil {
			return err
		}
		r.Finish()
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("reading job %d: %w", id, err)
	}
	return found, nil
}

// Submission finds the job that a submission token made, 0 if none.
func (p *Store) Submission(ctx context.Context, token string) (facts.JobID, error) {
	var id facts.JobID
	err := p.pool.QueryRow(ctx, sqlSubmission, rules.Clean(token)).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("looking a submission up: %w", err)
	}
	return id, nil
}

// Stored is what all jobs of an owner take in the database.
func (p *Store) Stored(ctx context.Context, owner string) (bytes int64, err error) {
	if err = p.pool.QueryRow(ctx, sqlStored, rules.Clean(owner)).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("summing up the bytes of an owner's jobs: %w", err)
	}
	return bytes, nil
}

// JobStates tells the states of those that exist.
func (p *Store) JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	states := make(map[facts.JobID]facts.JobState, len(ids))
	rows, err := p.pool.Query(ctx, sqlJobStates, ids)
	if err != nil {
		return nil, fmt.Errorf("reading the states of jobs: %w", err)
	}
	var id facts.JobID
	var state facts.JobState
	if _, err := pgx.ForEachRow(rows, []any{&id, &state}, func() error { states[id] = state; return nil }); err != nil {
		return nil, fmt.Errorf("reading the states of jobs: %w", err)
	}
	return states, nil
}

// Latest returns the latest attempt of each touched item first..last, by item.
func (p *Store) Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return p.attempts(ctx, sqlLatest, job, first, last)
}

// Attempts of a job by (item, number), those after the given one.
func (p *Store) Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return p.attempts(ctx, sqlAttempts, job, after.Item, after.Number, rules.PageOf(limit))
}

func (p *Store) attempts(ctx context.Context, sql string, job facts.JobID, args ...any) ([]facts.AttemptFacts, error) {
	rows, err := p.pool.Query(ctx, sql, append([]any{job}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading attempts of job %d: %w", job, err)
	}
	list, err := collectAttempts(rows)
	if err != nil {
		return nil, fmt.Errorf("reading attempts of job %d: %w", job, err)
	}
	return list, nil
}

// Marks of a job, by first item.
func (p *Store) Marks(ctx context.Context, job facts.JobID) ([]facts.Mark, error) {
	rows, err := queryAll[markRow](ctx, p.pool, sqlMarks, job)
	if err != nil {
		return nil, fmt.Errorf("reading marks of job %d: %w", job, err)
	}
	var marks []facts.Mark
	for _, r := range rows {
		marks = append(marks, r.mark())
	}
	return marks, nil
}

// History of a job, oldest first: events, and the starts and ends that the attempts tell.
func (p *Store) History(ctx context.Context, job facts.JobID, page store.HistoryPage) ([]store.HistoryLine, int, error) {
	query, from := sqlHistoryBefore, page.Before
	switch {
	case page.After != store.HistoryPlace{}:
		query, from = sqlHistoryAfter, page.After
	case page.Before == store.HistoryPlace{}:
		from = endOfHistory
	}
	rows, err := p.pool.Query(ctx, query, job, from.At, from.Rank, from.Turn, from.Number, rules.PageOf(page.Limit))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the history of job %d: %w", job, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.HistoryLine, error) {
		l := store.HistoryLine{EventFacts: facts.EventFacts{Job: job}}
		e, at, params := &l.EventFacts, &l.Place, (*facts.Params)(nil)
		err := row.Scan(&e.At, &at.Rank, &at.Turn, &at.Number, &e.Type, &e.Item, &e.Instance, &e.Host, &e.By, &e.Cause, &e.Reason, &params)
		e.At, e.Params = rules.Exact(e.At), orZero(params)
		at.At = e.At
		return l, err
	})
	earlier := 0
	if err == nil && len(list) > 0 && query == sqlHistoryBefore {
		slices.Reverse(list)
		from = list[0].Place
		err = p.pool.QueryRow(ctx, sqlHistoryEarlier, job, from.At, from.Rank, from.Turn, from.Number).Scan(&earlier)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the history of job %d: %w", job, err)
	}
	return list, earlier, nil
}

// endOfHistory comes after every line.
var endOfHistory = store.HistoryPlace{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
