package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Compact makes one chunk of attempts into sums.
func (p *Store) Compact(ctx context.Context, c store.Compaction) (attempts int64, err error) {
	err = p.holding(ctx, c.Epoch, func(tx pgx.Tx) error {
		jobs, err := readRows(ctx, tx, "closed jobs", pgx.RowTo[facts.JobID], sqlHoldClosed, c.Jobs, rules.Exact(c.Before))
		if err != nil || len(jobs) == 0 {
			return err
		}
		chunk := chunk{tx: tx, jobs: jobs, at: rules.Exact(c.At)}
		attempts, err = chunk.compact(ctx, c)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("compacting attempts: %w", namedRows(err))
	}
	return attempts, nil
}

// chunk are the attempts of the jobs up to an item of the last of them.
type chunk struct {
	tx   pgx.Tx
	jobs []facts.JobID // by id
	at   time.Time
	last facts.JobID
	item int32
}

func (k *chunk) compact(ctx context.Context, c store.Compaction) (int64, error) {
	var found int
	err := k.tx.QueryRow(ctx, sqlChunkEnd, k.jobs, max(1, c.Limit)).Scan(&k.last, &k.item, &found)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, k.finished(ctx, k.jobs)
	}
	if err != nil {
		return 0, err
	}
	if _, err := k.tx.Exec(ctx, sqlSumChunk, k.jobs, k.last, k.item, c.HalfLife.Seconds()); err != nil {
		return 0, fmt.Errorf("summing: %w", err)
	}
	if err := k.mark(ctx); err != nil {
		return 0, fmt.Errorf("marking: %w", err)
	}
	if _, err := k.tx.Exec(ctx, sqlNoteChunk, k.jobs, k.last, k.item); err != nil {
		return 0, fmt.Errorf("noting: %w", err)
	}
	var all int64
	if err := k.tx.QueryRow(ctx, sqlCountChunk, k.jobs, k.last, k.item).Scan(&all); err != nil {
		return 0, err
	}
	tag, err := k.tx.Exec(ctx, sqlDeleteChunk, k.jobs, k.last, k.item)
	if err != nil {
		return 0, fmt.Errorf("deleting: %w", err)
	}
	if tag.RowsAffected() != all {
		return 0, fmt.Errorf("%w: %d attempts of closed jobs up to job %d are live; see qb audit", store.ErrRows,
			all-tag.RowsAffected(), k.last)
	}
	var done []facts.JobID
	for _, id := range k.jobs {
		if id < k.last || found < c.Limit {
			done = append(done, id)
		}
	}
	return all, k.finished(ctx, done)
}

// mark lays the outcomes of the chunk over the marks of its jobs.
func (k *chunk) mark(ctx context.Context) error {
	outcomes, err := readRows(ctx, k.tx, "the ends of items", scanOutcome, sqlChunkOutcomes, k.jobs, k.last, k.item)
	if err != nil {
		return err
	}
	var list markColumns
	for len(outcomes) > 0 {
		n := 1
		for n < len(outcomes) && outcomes[n].Job == outcomes[0].Job {
			n++
		}
		of := outcomes[:n]
		marks, err := readRows(ctx, k.tx, "marks", pgx.RowToStructByPos[facts.Mark], sqlTakeMarks, of[0].Job, of[0].Item,
			of[n-1].Item)
		if err != nil {
			return err
		}
		slices.SortFunc(marks, func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
		list.add(of[0].Job, rules.Overlaid(marks, of))
		outcomes = outcomes[n:]
	}
	return list.statement().exec(ctx, k.tx)
}

func scanOutcome(row pgx.CollectableRow) (rules.Outcome, error) {
	var job facts.JobID
	var item facts.ItemNo
	var state facts.AttemptState
	var at time.Time
	err := row.Scan(&job, &item, &state, &at)
	return rules.OutcomeOf(job, item, state, at), err
}

// finished notes jobs that have no attempts left.
func (k *chunk) finished(ctx context.Context, jobs []facts.JobID) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := k.tx.Exec(ctx, sqlNoteCompacted, jobs, k.at)
	return err
}
