package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

const (
	profileColumns = `owner, name, lessons, memory, memory_after, seconds, seconds_after, by, at`
	sqlPutProfiles = `INSERT INTO profile (` + profileColumns + `)
		SELECT ` + profileColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(owner text, name text, lessons jsonb, memory bigint, memory_after bigint,
		seconds double precision, seconds_after bigint, by text, at timestamptz)
		ON CONFLICT (owner, name) DO UPDATE SET lessons = excluded.lessons, memory = excluded.memory, memory_after = excluded.memory_after,
		seconds = excluded.seconds, seconds_after = excluded.seconds_after, by = excluded.by, at = excluded.at`
	sqlDropProfiles = `DELETE FROM profile WHERE (owner, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
	sqlLoadProfiles = `SELECT ` + profileColumns + ` FROM profile ORDER BY owner COLLATE "C", name COLLATE "C"`

	sqlPutResources = `INSERT INTO resource (name, total, outside, by, reported_at, lowered, lowered_until, wait, probed)
		SELECT name, total, outside, by, nullif(reported_at, '0001-01-01 00:00Z'), lowered, nullif(lowered_until, '0001-01-01 00:00Z'), wait, probed
		FROM jsonb_to_recordset($1::jsonb) AS u(name text, total bigint, outside bigint, by text, reported_at timestamptz, lowered bigint,
		lowered_until timestamptz, wait double precision, probed boolean)
		ON CONFLICT (name) DO UPDATE SET total = excluded.total, outside = excluded.outside, by = excluded.by, reported_at = excluded.reported_at,
		lowered = excluded.lowered, lowered_until = excluded.lowered_until, wait = excluded.wait, probed = excluded.probed`
	sqlLoadResources = `SELECT name, total, outside, by, coalesce(reported_at, '0001-01-01 00:00Z'), lowered, coalesce(lowered_until, '0001-01-01 00:00Z'), wait, probed
		FROM resource ORDER BY name COLLATE "C"`

	sqlPutBreakages = `WITH old AS (DELETE FROM breakage WHERE at < $2)
		INSERT INTO breakage (kind, host, job, owner, times, at, cause)
		SELECT kind, host, job, owner, times, at, cause
		FROM jsonb_to_recordset($1::jsonb) AS u(kind text, host text, job bigint, owner text, times integer, at timestamptz, cause text)
		ON CONFLICT (kind, host, job, owner) DO UPDATE SET times = excluded.times, at = excluded.at, cause = excluded.cause`
	sqlLoadBreakages = `SELECT kind, host, job, owner, times, at, cause FROM breakage ORDER BY kind COLLATE "C", host COLLATE "C", job, owner COLLATE "C"`
)

// profileStatements write and delete profiles.
func profileStatements(w *rules.ProfileWrites) []statement {
	put := []facts.ProfileFacts{}
	owners := []string{}
	names := []string{}
	for _, p := range w.List {
		if p.Gone {
			owners, names = append(owners, p.Owner), append(names, p.Name)
		} else {
			put = append(put, p.ProfileFacts)
		}
	}
	return []statement{
		{sql: sqlPutProfiles, args: []any{put}, writes: len(put), what: "writing profiles"},
		{sql: sqlDropProfiles, args: []any{owners, names}, writes: len(owners), lenient: true, what: "deleting profiles"},
	}
}

// resourceStatement writes what is known of resources.
func resourceStatement(w *rules.ResourceWrites) statement {
	return statement{sql: sqlPutResources, args: []any{w.List}, writes: len(w.List), what: "writing resources"}
}

// breakageRow is a row of table breakage.
type breakageRow struct {
	Kind  string       `json:"kind"`
	Host  facts.HostID `json:"host"`
	Job   facts.JobID  `json:"job"`
	Owner string       `json:"owner"`
	Times int          `json:"times"`
	At    time.Time    `json:"at"`
	Cause string       `json:"cause"`
}

// breakageStatement writes whose events broke the farm's state, and deletes old rows.
func breakageStatement(w *rules.BreakageWrites) statement {
	rows, last := make([]breakageRow, 0, len(w.List)), time.Time{}
	for _, b := range w.List {
		rows = append(rows, breakageRow{b.Kind, b.Host, b.Job, b.Owner, b.Times, b.At, b.Cause})
		if b.At.After(last) {
			last = b.At
		}
	}
	return statement{sql: sqlPutBreakages, args: []any{rows, last.Add(-facts.BreakageKept)}, writes: len(rows),
		what: "writing breakages"}
}

func loadBreakages(ctx context.Context, tx pgx.Tx, rows *facts.Facts) error {
	list, err := readRows(ctx, tx, "breakages", pgx.RowToStructByPos[breakageRow], sqlLoadBreakages)
	for _, b := range list {
		rows.Breakages = append(rows.Breakages,
			facts.BreakageFacts{Sender: facts.Sender{Kind: b.Kind, Host: b.Host, Job: b.Job, Owner: b.Owner}, Times: b.Times,
				At: b.At.UTC(), Cause: b.Cause})
	}
	return err
}
