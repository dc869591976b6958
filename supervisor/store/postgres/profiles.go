package postgres

import (
	"qb/supervisor/facts"
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
)

// profileStatements write and delete profiles.
func profileStatements(w *rules.ProfileWrites) []statement {
	put, owners, names := []facts.ProfileFacts{}, []string{}, []string{}
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
