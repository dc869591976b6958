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
