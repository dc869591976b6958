package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// benchLimit is what the database of a run does at best with the rows of the run: a loop writes them again, the end of
// a group of items and the start of the next group in each commit, in groups as large as the farm's. It decides
// nothing, speaks to no host, and has the machine for itself.
type benchLimit struct {
	ItemsPerSecond float64 `json:"items_per_second"`
	ItemsPerCommit int     `json:"items_per_commit"`
	OfLimit        float64 `json:"of_limit"` // the farm's items per second of these
}

// Bounds of what is written again.
const (
	limitRows   = 50_000
	limitFor    = 10 * time.Second
	limitSchema = "qb_bench"
)

// Rows to write are tables with the number of each, so that the loop sends two numbers and not the rows: what a client
// takes to encode them is no limit of the database.
var sqlOfLimit = []string{
	`CREATE SCHEMA ` + limitSchema,
	`CREATE TABLE ` + limitSchema + `.attempt (LIKE attempt INCLUDING ALL) WITH (fillfactor = 50)`,
	fmt.Sprintf(`CREATE TABLE %s.ended AS SELECT row_number() OVER () AS n, a.* FROM
		(SELECT * FROM attempt WHERE state = 'done' ORDER BY started_at LIMIT %d) a`, limitSchema, limitRows),
	`CREATE TABLE ` + limitSchema + `.begun AS SELECT * FROM ` + limitSchema + `.ended`,
	`UPDATE ` + limitSchema + `.begun SET state = 'running', exit_code = NULL, wall = 0, cpu = 0, peak = 0, ended_at = NULL,
		charge_cpu = NULL, charge_ram = NULL, charge_gpu = NULL, charge_scratch = NULL, charged = false`,
	`CREATE INDEX ON ` + limitSchema + `.begun (n)`,
	`CREATE INDEX ON ` + limitSchema + `.ended (n)`,
	`ANALYZE ` + limitSchema + `.begun`,
	`ANALYZE ` + limitSchema + `.ended`,
	// the plans of the supervisor's sessions: the tables grow from nothing
	`SET enable_seqscan = off`, `SET enable_hashjoin = off`, `SET enable_mergejoin = off`, `SET jit = off`,
	`CHECKPOINT`,
}

const (
	sqlBeginItems = `INSERT INTO ` + limitSchema + `.attempt SELECT %s FROM ` + limitSchema + `.begun WHERE n > $1 AND n <= $2`
	sqlEndItems   = `UPDATE ` + limitSchema + `.attempt a SET state = e.state, exit_code = e.exit_code, wall = e.wall,
		cpu = e.cpu, peak = e.peak, ended_at = e.ended_at, charge_cpu = e.charge_cpu, charge_ram = e.charge_ram,
		charge_gpu = e.charge_gpu, charge_scratch = e.charge_scratch, charged = e.charged
		FROM ` + limitSchema + `.ended e WHERE e.n > $1 AND e.n <= $2 AND (a.job, a.item, a.number) = (e.job, e.item, e.number)`
)

// measureLimit has the limit of a run that has ended, nil if it ended no item.
func (b *benchRun) measureLimit(ctx context.Context, r *benchResult) (*benchLimit, error) {
	if r.Items == 0 || r.Commits == 0 {
		return nil, nil
	}
	conn, err := pgx.Connect(ctx, b.file.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database to write the rows again: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	defer conn.Exec(context.WithoutCancel(ctx), `DROP SCHEMA IF EXISTS `+limitSchema+` CASCADE`)
	for _, sql := range sqlOfLimit {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("preparing to write the rows again: %w", err)
		}
	}
	l := &benchLimit{ItemsPerCommit: max(1, int(r.RowsWritten/r.Commits/2))}
	if l.ItemsPerSecond, err = groupCommits(ctx, conn, l.ItemsPerCommit); err != nil {
		return nil, fmt.Errorf("writing the rows again: %w", err)
	}
	l.OfLimit = r.ItemsPerSecond / l.ItemsPerSecond
	return l, nil
}

// groupCommits writes the rows and returns how many items ended per second.
func groupCommits(ctx context.Context, conn *pgx.Conn, group int) (float64, error) {
	columns, err := columnsOf(ctx, conn)
	if err != nil {
		return 0, err
	}
	var ended int64
	began := time.Now()
	for n := 0; time.Since(began) < limitFor; n += group {
		var batch pgx.Batch
		batch.Queue(sqlEndItems, n-group, n)
		batch.Queue(fmt.Sprintf(sqlBeginItems, strings.Join(columns, ", ")), n, n+group)
		results := conn.SendBatch(ctx, &batch) // one transaction
		over, err := results.Exec()
		if err == nil {
			_, err = results.Exec()
		}
		if closed := results.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return 0, err
		}
		ended += over.RowsAffected()
		if n > 0 && over.RowsAffected() == 0 {
			break
		}
	}
	return float64(ended) / time.Since(began).Seconds(), nil
}

// columnsOf are the names of the columns of attempt, in order.
func columnsOf(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, _ := conn.Query(ctx, `SELECT quote_ident(attname) FROM pg_attribute
		WHERE attrelid = 'attempt'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`)
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
