package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
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
			l.views[l.places[i]] = rules.ViewOf(q, l.jobs[i], *sums[id])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return l.views, nil
}

// JobRefs lists jobs in short, newest first.
func (p *Store) JobRefs(ctx context.Context, q store.JobQuery) ([]store.JobRef, error) {
	sql, args := selectJobs(`id, state`, q)
	return readRows(ctx, p.pool, "jobs", pgx.RowToStructByPos[store.JobRef], sql, args...)
}

// LastChange is the latest time at which a job changed.
func (p *Store) LastChange(ctx context.Context) (time.Time, error) {
	at, _, err := readOne(ctx, p.pool, "the last change", pgx.RowTo[time.Time], sqlLastChange)
	return at, err
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
	sql, args := selectJobs(jobColumnsOf(q), q)
	rows, _ := tx.Query(ctx, sql, args...)
	defer rows.Close()
	for rows.Next() {
		row, err := scanJob(rows)
		if err != nil {
			return l, err
		}
		view, known := rules.Known(q, row)
		if !known {
			l.ids = append(l.ids, row.ID)
			l.jobs = append(l.jobs, rules.CountJob(q, row))
			l.places = append(l.places, len(l.views))
		}
		l.views = append(l.views, view)
	}
	return l, rows.Err()
}

// jobNumbers counts what the rows of jobs tell, in one round trip.
func jobNumbers(ctx context.Context, tx pgx.Tx, ids []facts.JobID,
	quantile float64) (map[facts.JobID]*rules.Numbers, error) {
	sums := make(map[facts.JobID]*rules.Numbers, len(ids))
	for _, id := range ids {
		sums[id] = &rules.Numbers{}
	}
	var batch pgx.Batch
	query := func(targets []any, take func(), sql string, args ...any) {
		batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, targets, func() error {
				take()
				return nil
			})
			return err
		})
	}
	var id facts.JobID
	var n rules.Numbers
	var least, most string
	m := &n.Memory
	query([]any{&id, &n.Running, &n.Complete, &n.Killed, &n.Failed, &n.FailedAttempts, &least, &most, &n.StartedAt,
		&n.MeanWall,
		&m.Returned, &m.Peak, &m.Largest, &m.RanOut, &m.Out}, func() {
		n.Failure = facts.Failure{}
		if least == most {
			n.Failure = failureOf(least)
		}
		*sums[id] = n
	}, sqlJobNumbers, ids)
	if quantile > 0 && quantile < 1 {
		var peak int64
		query([]any{&id, &peak}, func() { sums[id].Memory.Peak = peak }, sqlPeakQuantiles, ids, quantile)
	}
	var old rules.CompactedNumbers
	o := &old.Memory
	query([]any{&id, &old.FirstStart, &old.DoneWall, &old.DoneCount, &old.Failed, &o.Returned, &o.Peak, &o.Largest,
		&o.RanOut, &o.Out},
		func() { sums[id].Enter(old) }, sqlCompactedNumbers, ids)
	var kind facts.MarkKind
	var items int
	query([]any{&id, &kind, &items}, func() { sums[id].Mark(kind, items) }, sqlMarkNumbers, ids)
	return sums, tx.SendBatch(ctx, &batch).Close()
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
	job, found, err := readOne(ctx, p.pool, "a job", scanJob, sqlJob, id)
	if !found {
		return nil, err
	}
	return &job, nil
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
	id, _, err := readOne(ctx, p.pool, "a submission", pgx.RowTo[facts.JobID], sqlSubmission, rules.Clean(token))
	return id, err
}

// Stored is what all jobs of an owner take in the database.
func (p *Store) Stored(ctx context.Context, owner string) (int64, error) {
	bytes, _, err := readOne(ctx, p.pool, "the bytes of an owner's jobs", pgx.RowTo[int64], sqlStored, rules.Clean(owner))
	return bytes, err
}

// Labels tells which jobs of a process group have these labels.
func (p *Store) Labels(ctx context.Context, group facts.JobID, labels []string) (map[string]facts.JobID, error) {
	return readMap[string, facts.JobID](ctx, p.pool, "labels", sqlLabels, group, labels)
}

// Before tells which other jobs the submissions made whose last jobs these are.
func (p *Store) Before(ctx context.Context, ids []facts.JobID) (map[facts.JobID][]facts.JobID, error) {
	return readMap[facts.JobID, []facts.JobID](ctx, p.pool, "the jobs of submissions", sqlBefore, ids)
}

// JobStates returns the states of the existing jobs among ids.
func (p *Store) JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error) {
	return readMap[facts.JobID, facts.JobState](ctx, p.pool, "the states of jobs", sqlJobStates, ids)
}

// jobRows reads the rows of one job, from one consistent snapshot if db is a transaction.
type jobRows struct {
	db  querier
	job facts.JobID
}

// ReadJob calls read with a job's rows from one consistent snapshot.
func (p *Store) ReadJob(ctx context.Context, id facts.JobID,
	read func(context.Context, facts.JobFacts, store.JobRows) error) (found bool, err error) {
	err = snapshot(ctx, p.pool, func(tx pgx.Tx) error {
		var job facts.JobFacts
		if job, found, err = readOne(ctx, tx, "a job", scanJob, sqlJob, id); err != nil || !found {
			return err
		}
		return read(ctx, job, jobRows{tx, id})
	})
	if err != nil {
		return false, fmt.Errorf("reading the items of job %d: %w", id, err)
	}
	return found, nil
}

// Latest returns the latest attempt of each touched item first..last, by item.
func (p *Store) Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return jobRows{p.pool, job}.Latest(ctx, first, last)
}

// Attempts of a job by (item, number), those after the given one.
func (p *Store) Attempts(ctx context.Context, job facts.JobID,
	after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return jobRows{p.pool, job}.Attempts(ctx, after, limit)
}

func (r jobRows) Latest(ctx context.Context, first, last facts.ItemNo) ([]facts.AttemptFacts, error) {
	return readRows(ctx, r.db, "attempts", newAttemptScanner().scan, sqlLatest, r.job, first, last)
}

func (r jobRows) Attempts(ctx context.Context, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error) {
	return readRows(ctx, r.db, "attempts", newAttemptScanner().scan, sqlAttempts, r.job, after.Item, after.Number,
		rules.PageOf(limit))
}

func (r jobRows) FailedBefore(ctx context.Context, first, last facts.ItemNo) ([]store.FailedBefore, error) {
	return readRows(ctx, r.db, "earlier attempts", pgx.RowToStructByPos[store.FailedBefore], sqlFailedBefore, r.job,
		first, last)
}

func (r jobRows) Marks(ctx context.Context) ([]facts.Mark, error) {
	return readRows(ctx, r.db, "marks", pgx.RowToStructByPos[facts.Mark], sqlMarks, r.job)
}

// foundRow is a row of attempt_found.
type foundRow struct {
	Item, Number            int
	Highlights, OutputPaths []string
	Result                  string
}

func (r jobRows) Found(ctx context.Context, first, last facts.AttemptID) (map[facts.AttemptID]facts.Found, error) {
	rows, err := readRows(ctx, r.db, "what was found in output", pgx.RowToStructByPos[foundRow], sqlFound,
		r.job, first.Item, first.Number, last.Item, last.Number)
	found := make(map[facts.AttemptID]facts.Found, len(rows))
	for _, row := range rows {
		id := facts.AttemptID{Job: r.job, Item: facts.ItemNo(row.Item), Number: row.Number}
		found[id] = facts.Found{Highlights: row.Highlights, OutputPaths: row.OutputPaths, Result: row.Result}
	}
	return found, err
}

// EndedSo are the items whose latest attempt, which is live or their end, ran on the host, unless it is "", and has the
// exit status, unless that is nil.
func (p *Store) EndedSo(ctx context.Context, job facts.JobID, host facts.HostID, exit *int) ([]facts.ItemNo, error) {
	return readRows(ctx, p.pool, "how items ended", pgx.RowTo[facts.ItemNo], sqlEndedSo, job, host, exit)
}

// History of a job, oldest first: events, and the starts and ends that the attempts tell.
func (p *Store) History(ctx context.Context, job facts.JobID,
	page store.HistoryPage) ([]store.HistoryLine, int, error) {
	query, from := sqlHistoryBefore, page.Before
	switch {
	case page.After != store.HistoryCursor{}:
		query, from = sqlHistoryAfter, page.After
	case page.Before == store.HistoryCursor{}:
		from = endOfHistory
	}
	list, err := readRows(ctx, p.pool, "the history of a job", func(row pgx.CollectableRow) (store.HistoryLine, error) {
		l := store.HistoryLine{EventFacts: facts.EventFacts{Job: job}}
		e, at := &l.EventFacts, &l.Place
		err := row.Scan(&e.At, &at.Rank, &at.Turn, &at.Number, &e.Type, &e.Item, &e.Instance, &e.Host, &e.By, &e.Cause,
			&e.Reason, &e.Params)
		at.At = e.At
		return l, err
	}, query, job, from.At, from.Rank, from.Turn, from.Number, rules.PageOf(page.Limit))
	if len(list) == 0 || query == sqlHistoryAfter {
		return list, 0, err
	}
	slices.Reverse(list)
	from = list[0].Place
	earlier, _, err := readOne(ctx, p.pool, "the length of a job's history", pgx.RowTo[int], sqlHistoryEarlier, job,
		from.At, from.Rank, from.Turn, from.Number)
	return list, earlier, err
}

// endOfHistory comes after every line.
var endOfHistory = store.HistoryCursor{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
