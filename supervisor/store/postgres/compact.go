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
	var all int64
	if err := k.tx.QueryRow(ctx, sqlCountChunk, k.jobs, k.last, k.item).Scan(&all); err != nil {
		return 0, err
	}
	attempts, err := readRows(ctx, k.tx, "the attempts of a chunk", scanTaken, sqlCompactChunk, k.jobs, k.last, k.item,
		c.HalfLife.Seconds(), k.at)
	if err != nil {
		return 0, err
	}
	if live := all - int64(len(attempts)); live != 0 {
		return 0, fmt.Errorf("%w: %d attempts of closed jobs up to job %d are live; see qb audit", store.ErrRows, live,
			k.last)
	}
	if err := k.mark(ctx, attempts); err != nil {
		return 0, fmt.Errorf("marking: %w", err)
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
func (k *chunk) mark(ctx context.Context, attempts []taken) error {
	var jobs []facts.JobID
	var first, last []facts.ItemNo
	outcomes := map[facts.JobID][]rules.Outcome{}
	for _, a := range attempts {
		if !a.stands {
			continue
		}
		if outcomes[a.Job] == nil {
			jobs, first, last = append(jobs, a.Job), append(first, a.Item), append(last, a.Item)
		}
		last[len(last)-1] = a.Item
		outcomes[a.Job] = append(outcomes[a.Job], a.Outcome)
	}
	if len(jobs) == 0 {
		return nil
	}
	rows, err := readRows(ctx, k.tx, "marks", pgx.RowToStructByPos[markRow], sqlTakeMarks, jobs, first, last)
	if err != nil {
		return err
	}
	marks := map[facts.JobID][]facts.Mark{}
	for _, m := range rows {
		marks[m.Job] = append(marks[m.Job], m.Mark)
	}
	var list markColumns
	for _, id := range jobs {
		slices.SortFunc(marks[id], func(a, b facts.Mark) int { return cmp.Compare(a.First, b.First) })
		list.add(id, rules.Overlaid(marks[id], outcomes[id]))
	}
	return list.statement().exec(ctx, k.tx)
}

// taken is an attempt that has become part of a sum.
type taken struct {
	rules.Outcome
	stands bool // the outcome is its item's
}

func scanTaken(row pgx.CollectableRow) (t taken, err error) {
	var job facts.JobID
	var item facts.ItemNo
	var state facts.AttemptState
	var at time.Time
	err = row.Scan(&job, &item, &state, &at, &t.stands)
	t.Outcome = rules.OutcomeOf(job, item, state, at)
	return t, err
}

// finished notes jobs that have no attempts left.
func (k *chunk) finished(ctx context.Context, jobs []facts.JobID) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := k.tx.Exec(ctx, sqlNoteCompacted, jobs, k.at)
	return err
}
