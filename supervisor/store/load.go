package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/farm"
)

// sqlForLoading undoes, for one transaction, what suits commits only.
var sqlForLoading = "SET LOCAL statement_timeout = " + milliseconds(loadLimit) +
	"; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on"

// Load reads, as of one moment, all that the farm starts from. Jobs that have ended cost nothing, however many.
func (t *term) Load(ctx context.Context) (farm.Facts, error) {
	var facts farm.Facts
	err := t.use(ctx, func(conn *pgx.Conn) error {
		return snapshot(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlForLoading); err != nil {
				return fmt.Errorf("preparing to load: %w", err)
			}
			return loadFacts(ctx, tx, &facts)
		})
	})
	return facts, err
}

// beginner is a connection or a pool.
type beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// snapshot runs f in a transaction in which all statements see the same rows.
func snapshot(ctx context.Context, b beginner, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, b, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

func loadFacts(ctx context.Context, tx pgx.Tx, facts *farm.Facts) error {
	if err := tx.QueryRow(ctx, sqlNextJob).Scan(&facts.NextJob); err != nil {
		return fmt.Errorf("reading the last job's number: %w", err)
	}
	hosts, err := queryAll[hostRow](ctx, tx, sqlLoadHosts)
	if err != nil {
		return fmt.Errorf("reading hosts: %w", err)
	}
	for _, h := range hosts {
		facts.Hosts = append(facts.Hosts, h.facts())
	}
	if err := loadShares(ctx, tx, facts); err != nil {
		return err
	}
	facts.Jobs, err = loadRecords(ctx, tx, sqlLoadJobs)
	return err
}

// loadRecords reads the jobs that sql selects, with what happened to them.
func loadRecords(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]farm.JobRecord, error) {
	rows, err := queryAll[jobRow](ctx, tx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("reading jobs: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	records := make([]farm.JobRecord, len(rows))
	place := make(map[farm.JobID]int, len(rows))
	ids := make([]farm.JobID, len(rows))
	for i, r := range rows {
		records[i].Job = r.facts()
		place[r.ID], ids[i] = i, r.ID
	}
	marks, err := queryAll[markRow](ctx, tx, sqlLoadMarks, ids)
	if err != nil {
		return nil, fmt.Errorf("reading marks: %w", err)
	}
	for _, m := range marks {
		r := &records[place[m.Job]]
		r.Marks = append(r.Marks, m.mark())
	}
	found, err := tx.Query(ctx, sqlLoadAttempts, ids)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	defer found.Close()
	scanner := newAttemptScanner()
	for found.Next() {
		a, err := scanner.scan(found)
		if err != nil {
			return nil, fmt.Errorf("reading attempts: %w", err)
		}
		r := &records[place[a.Job]]
		r.Attempts = append(r.Attempts, a)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	return records, nil
}

// querier is a transaction, a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// queryAll collects rows into structs by the names of their columns.
func queryAll[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}
