package store

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/facts"
)

// numbers are what the attempts and marks of a job add up to.
type numbers struct {
	running, complete, failed, killed, blocked int
	startedAt                                  time.Time
	meanWall                                   float64
	memory                                     facts.PastMemory
}

// viewOf joins a row with its numbers. The farm derives the same from what it holds in memory.
func viewOf(q JobQuery, counted countedJob, n numbers) facts.JobView {
	j := counted.facts
	v := facts.JobView{JobFacts: j, Status: string(j.State), StartedAt: n.startedAt, MeanItemSeconds: n.meanWall}
	if q.Memory != nil {
		v.Memory = q.Memory(j.Reservations, n.memory)
	}
	touched := n.running + n.complete + n.failed + n.killed + n.blocked
	v.Items = facts.ItemCounts{Total: touched, Running: n.running, Complete: n.complete, Failed: n.failed,
		Killed: n.killed, Blocked: n.blocked}
	if counted.items >= 0 {
		v.Items.Total = counted.items
	}
	v.Items.Pending = v.Items.Total - touched
	switch {
	case j.State == facts.Active && n.running > 0:
		v.Status = "running"
	case j.State == facts.Active:
		v.Status = "pending"
	case j.State == facts.Blocked:
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	}
	return v
}

// itemsOf counts an agenda. Its order takes memory and changes no count.
func itemsOf(spec agenda.Spec) (int, error) {
	key := counted{maphash.String(countSeed, spec.Range), len(spec.Range), spec.Chunk, spec.Partitions}
	if len(spec.Range) >= longRange {
		if n, known := counts.Load(key); known {
			return n.(int), nil
		}
	}
	spec.Order = agenda.Ascend
	a, err := agenda.Parse(spec, agenda.MaxItems)
	if err != nil {
		return 0, err
	}
	if len(spec.Range) >= longRange && kept.Add(1) <= countsKept {
		counts.Store(key, a.Len())
	}
	return a.Len(), nil
}

// counted is an agenda that takes long to read: up to a third of a second, for each list that the job is in. What it
// counts never changes, so it is kept.
type counted struct {
	hash                      uint64
	bytes, chunks, partitions int
}

const (
	longRange  = 8 << 10
	countsKept = 100_000
)

var (
	countSeed = maphash.MakeSeed()
	counts    sync.Map // of counted
	kept      atomic.Int64
)

func pageOf(limit int) int {
	if limit <= 0 {
		return MaxPage
	}
	return min(limit, MaxPage)
}

// Jobs lists jobs, newest first.
func (p *Postgres) Jobs(ctx context.Context, q JobQuery) ([]facts.JobView, error) {
	var views []facts.JobView
	err := snapshot(ctx, p.pool, func(tx pgx.Tx) error {
		ids, jobs, err := jobFacts(ctx, tx, q)
		if err != nil || len(ids) == 0 {
			return err
		}
		sums, err := jobNumbers(ctx, tx, ids, q.quantile())
		if err != nil {
			return err
		}
		views = make([]facts.JobView, len(jobs))
		for i, j := range jobs {
			views[i] = viewOf(q, j, sums[ids[i]])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return views, nil
}

// countedJob is a job with the number of its items, -1 if it is not known: a list does not keep the range that they were
// counted from.
type countedJob struct {
	facts facts.JobFacts
	items int
}

func countJob(q JobQuery, row facts.JobFacts) countedJob {
	j := countedJob{row, -1}
	// An agenda that is no longer understood must not take the whole listing down; qb audit names it.
	if n, err := itemsOf(row.Agenda); err == nil {
		j.items = n
	}
	if q.Brief && len(row.Agenda.Range) > longRange {
		j.facts.Agenda.Range = ""
	}
	return j
}

// jobFacts reads a page of rows. It counts each agenda as its row comes, so that a list holds one long range at a time:
// a thousand of 1 MB would be 1 GB.
func jobFacts(ctx context.Context, tx pgx.Tx, q JobQuery) (ids []facts.JobID, jobs []countedJob, err error) {
	rows, err := tx.Query(ctx, sqlJobs, q.IDs, clean(q.User), q.States, q.Before, pageOf(q.Limit), q.Brief)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := pgx.RowToStructByName[jobRow](rows)
		if err != nil {
			return nil, nil, err
		}
		j := countJob(q, r.facts())
		ids, jobs = append(ids, j.facts.ID), append(jobs, j)
	}
	return ids, jobs, rows.Err()
}

func jobNumbers(ctx context.Context, tx pgx.Tx, ids []facts.JobID, quantile float64) (map[facts.JobID]numbers, error) {
	sums := make(map[facts.JobID]numbers, len(ids))
	rows, err := tx.Query(ctx, sqlJobNumbers, ids)
	if err != nil {
		return nil, err
	}
	var id facts.JobID
	var n numbers
	m := &n.memory
	_, err = pgx.ForEachRow(rows, []any{&id, &n.running, &n.complete, &n.killed, &n.failed, &n.startedAt, &n.meanWall,
		&m.Returned, &m.Peak, &m.Largest, &m.RanOut, &m.Out}, func() error {
		n.startedAt = exact(n.startedAt)
		sums[id] = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	if quantile > 0 {
		if rows, err = tx.Query(ctx, sqlPeakQuantiles, ids, quantile); err != nil {
			return nil, err
		}
		var peak int64
		_, err = pgx.ForEachRow(rows, []any{&id, &peak}, func() error {
			n := sums[id]
			n.memory.Peak = peak
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
	var old compactedNumbers
	o := &old.memory
	_, err = pgx.ForEachRow(rows, []any{&id, &old.firstStart, &old.doneWall, &old.doneCount,
		&o.Returned, &o.Peak, &o.Largest, &o.RanOut, &o.Out}, func() error {
		n := sums[id]
		n.enter(old)
		sums[id] = n
		old.firstStart = nil
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
		n.mark(kind, items)
		sums[id] = n
		return nil
	})
	return sums, err
}

// compactedNumbers are what is known of a job's attempts that have become daily sums.
type compactedNumbers struct {
	firstStart *time.Time
	doneWall   float64 // seconds
	doneCount  int
	memory     facts.PastMemory
}

// enter adds them to those of the attempts that are rows; marks that decide items are counted after.
func (n *numbers) enter(old compactedNumbers) {
	if at := old.firstStart; at != nil && (n.startedAt.IsZero() || at.Before(n.startedAt)) {
		n.startedAt = exact(*at)
	}
	if done := n.complete + old.doneCount; done > 0 {
		n.meanWall = (n.meanWall*float64(n.complete) + old.doneWall) / float64(done)
	}
	n.memory = n.memory.And(old.memory)
}

// mark counts items that a mark decides.
func (n *numbers) mark(kind facts.MarkKind, items int) {
	switch kind {
	case facts.MarkKilled:
		n.killed += items
	case facts.MarkBlocked:
		n.blocked += items
	case facts.MarkComplete:
		n.complete += items
	case facts.MarkFailed:
		n.failed += items
	}
}

// Facts is the row of a job; nil if there is none.
func (p *Postgres) Facts(ctx context.Context, id facts.JobID) (*facts.JobFacts, error) {
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
func (p *Postgres) Record(ctx context.Context, id facts.JobID, r facts.Recorder) (found bool, err error) {
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
func (p *Postgres) Submission(ctx context.Context, token string) (facts.JobID, error) {
	var id facts.JobID
	err := p.pool.QueryRow(ctx, sqlSubmission, clean(token)).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("looking a submission up: %w", err)
	}
	return id, nil
}

// Stored is what all jobs of an owner take in the database.
func (p *Postgres) Stored(ctx context.Context, owner string) (bytes int64, err error) {
	if err = p.pool.QueryRow(ctx, sqlStored, clean(owner)).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("summing up the bytes of an owner's jobs: %w", err)
	}
	return bytes, nil
}

// JobStates tells the states of those that exist.
func (p *Postgres) JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
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
func (p *Postgres) Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return p.attempts(ctx, sqlLatest, job, first, last)
}

// Attempts of a job by (item, number), those after the given one.
func (p *Postgres) Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return p.attempts(ctx, sqlAttempts, job, after.Item, after.Number, pageOf(limit))
}

func (p *Postgres) attempts(ctx context.Context, sql string, job facts.JobID, args ...any) ([]facts.AttemptFacts, error) {
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
func (p *Postgres) Marks(ctx context.Context, job facts.JobID) ([]facts.Mark, error) {
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
func (p *Postgres) History(ctx context.Context, job facts.JobID, limit int) ([]facts.EventFacts, error) {
	rows, err := p.pool.Query(ctx, sqlHistory, job, pageOf(limit))
	if err != nil {
		return nil, fmt.Errorf("reading the history of job %d: %w", job, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (facts.EventFacts, error) {
		e := facts.EventFacts{Job: job}
		var params *facts.Params
		err := row.Scan(&e.At, &e.Type, &e.Item, &e.Instance, &e.Host, &e.By, &e.Cause, &e.Reason, &params)
		e.At, e.Params = exact(e.At), orZero(params)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the history of job %d: %w", job, err)
	}
	return list, nil
}
