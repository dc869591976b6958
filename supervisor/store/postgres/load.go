package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// sqlForLoading undoes, for one transaction, what suits commits only.
var sqlForLoading = "SET LOCAL statement_timeout = " + milliseconds(loadLimit) +
	"; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on" +
	// A million attempts are gathered by job in memory: as many rows sorted would go to the disk and back.
	"; SET LOCAL work_mem = '256MB'; SET LOCAL enable_sort = off"

// sqlForRecord lets a job be read for as long as a term may load.
var sqlForRecord = "SET LOCAL statement_timeout = " + milliseconds(loadLimit)

// Load reads, from one consistent snapshot, all that the farm starts from. Jobs that have ended cost nothing, however
// many.
func (t *term) Load(ctx context.Context) (facts.Facts, error) {
	var rows facts.Facts
	err := t.use(ctx, func(conn *pgx.Conn) error {
		return snapshot(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlForLoading); err != nil {
				return fmt.Errorf("preparing to load: %w", err)
			}
			if err := loadFacts(ctx, tx, &rows); err != nil {
				return err
			}
			return loadNumbers(ctx, tx, t.descent, &rows)
		})
	})
	return rows, err
}

// beginner is a connection or a pool.
type beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// snapshot runs f in a transaction in which all statements see the same rows.
func snapshot(ctx context.Context, b beginner, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, b, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

func loadFacts(ctx context.Context, tx pgx.Tx, rows *facts.Facts) error {
	if err := tx.QueryRow(ctx, sqlNextJob).Scan(&rows.NextJob); err != nil {
		return fmt.Errorf("reading the last job's number: %w", err)
	}
	var err error
	if rows.Promise, err = scanPromise(tx.QueryRow(ctx, sqlPromise)); err != nil {
		return fmt.Errorf("reading what answers have promised: %w", err)
	}
	if rows.Hosts, err = readRows(ctx, tx, "hosts", scanHost, sqlLoadHosts); err != nil {
		return err
	}
	if err := cmp.Or(loadShares(ctx, tx, rows), readInto(ctx, tx, &rows.Profiles, "profiles", sqlLoadProfiles),
		readInto(ctx, tx, &rows.Resources, "resources", sqlLoadResources), loadBreakages(ctx, tx, rows)); err != nil {
		return err
	}
	jobs, err := loadJobs(ctx, tx, sqlLoadJobs)
	if err != nil {
		return err
	}
	if err := jobs.loadCompacted(ctx, tx); err != nil {
		return err
	}
	rows.Jobs = jobs.records
	if rows.Ended, err = readMap[facts.JobID, facts.JobState](ctx, tx, "the jobs that others wait for",
		sqlLoadEnded); err != nil {
		return err
	}
	return jobs.loadInShort(ctx, tx)
}

// loadedJobs are jobs whose attempts are being read.
type loadedJobs struct {
	ids     []facts.JobID
	records []facts.JobRecord
	place   map[facts.JobID]int // in records
}

// loadJobs reads the jobs that sql selects and their marks.
func loadJobs(ctx context.Context, tx pgx.Tx, sql string, args ...any) (*loadedJobs, error) {
	rows, err := readRows(ctx, tx, "jobs", scanJob, sql, args...)
	if err != nil {
		return nil, err
	}
	l := &loadedJobs{place: make(map[facts.JobID]int, len(rows))}
	for i := range rows {
		l.ids, l.records = append(l.ids, rows[i].ID), append(l.records, facts.JobRecord{Job: rows[i]})
		l.place[rows[i].ID] = i
	}
	marks, err := readRows(ctx, tx, "marks", pgx.RowToStructByPos[markRow], sqlLoadMarks, l.ids)
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		r := &l.records[l.place[m.Job]]
		r.Marks = append(r.Marks, m.Mark)
	}
	orders, err := readRows(ctx, tx, "orders", scanOrder, sqlLoadOrders, l.ids)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		r := &l.records[l.place[o.Job]]
		r.Orders = append(r.Orders, o)
	}
	return l, nil
}

// loadCompacted says of which ended jobs attempts are no longer rows.
func (l *loadedJobs) loadCompacted(ctx context.Context, tx pgx.Tx) error {
	var ended []facts.JobID
	for i := range l.records {
		if l.records[i].Job.State.Final() {
			ended = append(ended, l.ids[i])
		}
	}
	if len(ended) == 0 {
		return nil
	}
	compacted, err := readRows(ctx, tx, "which jobs are compacted", pgx.RowTo[facts.JobID], sqlWhichCompacted, ended)
	for _, id := range compacted {
		l.records[l.place[id]].Compacted = true
	}
	return err
}

func (l *loadedJobs) loadAttempts(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	scanner := newAttemptScanner()
	return each(ctx, tx, sql, args, func(rows pgx.Rows) error {
		a, err := scanner.scan(rows)
		if err == nil {
			r := &l.records[l.place[a.Job]]
			if n := len(r.Attempts); n == cap(r.Attempts) {
				// facts are large: moved again and again, a million of them take seconds
				r.Attempts = slices.Grow(r.Attempts, max(n, 16))
			}
			r.Attempts = append(r.Attempts, a)
		}
		return err
	})
}

// loadInShort reads in full all attempts of jobs with orders. Of other jobs it reads successful attempts in short form,
// then the rest in full.
func (l *loadedJobs) loadInShort(ctx context.Context, tx pgx.Tx) error {
	full, short := l.inFull()
	if len(full) > 0 {
		if err := l.loadAttempts(ctx, tx, sqlLoadAttempts, full); err != nil {
			return err
		}
	}
	var row shortRow
	var others []pgtype.TID
	err := each(ctx, tx, sqlLoadInShort, []any{short}, func(rows pgx.Rows) error {
		if err := row.scan(rows); err != nil {
			return err
		}
		if row.number > 0 {
			r := &l.records[l.place[row.job]]
			r.Done = append(r.Done, row.facts())
			return nil
		}
		others = append(others, row.others...)
		return nil
	})
	if err != nil || len(others) == 0 {
		return err
	}
	return l.loadAttempts(ctx, tx, sqlLoadOthers, others)
}

// each calls take for every row that sql finds in attempt.
func each(ctx context.Context, tx pgx.Tx, sql string, args []any, take func(pgx.Rows) error) error {
	var err error
	rows, _ := tx.Query(ctx, sql, args...)
	defer rows.Close()
	for err == nil && rows.Next() {
		err = take(rows)
	}
	if err = cmp.Or(err, rows.Err()); err != nil {
		return fmt.Errorf("reading attempts: %w", err)
	}
	return nil
}

// scanPromise reads the columns of a promise, after others of its row.
func scanPromise(row pgx.Row, before ...any) (p facts.PromiseFacts, err error) {
	var lease, grace, margin int64
	var until *time.Time
	if err := row.Scan(append(before, &lease, &grace, &margin, &until)...); err != nil {
		return p, err
	}
	p.Lease = microseconds(lease)
	p.Grace = microseconds(grace)
	p.Margin = microseconds(margin)
	if until != nil {
		p.Until = *until
	}
	return p, nil
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func (t *term) promiseStatement(p *facts.PromiseFacts) statement {
	if p == nil {
		return statement{}
	}
	is := rules.NormalPromise(*p)
	var until *time.Time
	if !is.Until.IsZero() {
		until = &is.Until
	}
	return statement{sql: sqlPutPromise, args: []any{t.epoch, is.Lease.Microseconds(), is.Grace.Microseconds(),
		is.Margin.Microseconds(), until},
		writes: 1, what: "writing what answers promise"}
}
