package postgres

// All SQL of the answers to changes that carried a key.

const (
	// An existing row is an error: a repeated call must be answered from it and change nothing.
	sqlAddAnswers = `WITH u AS (SELECT owner, key, decode(hash, 'base64') AS hash, body, at, n
			FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (owner text, key text, hash text, body text, at timestamptz))
			WITH ORDINALITY AS u(owner, key, hash, body, at, n)),
		last AS MATERIALIZED (SELECT o.owner, (SELECT coalesce(max(place), 0) FROM answer a WHERE a.owner = o.owner) AS place
			FROM (SELECT DISTINCT owner FROM u) AS o)
		INSERT INTO answer (owner, key, hash, body, at, place) SELECT u.owner, u.key, u.hash, u.body, u.at,
		l.place + sum(1 + octet_length(u.body) / 16384) OVER (PARTITION BY u.owner ORDER BY u.n)
		FROM u JOIN last l ON l.owner = u.owner`

	// Only the oldest are looked at, which costs as little as what was added. Each level of these two reads the one index
	// that has its order, whatever the size of the table: one plan serves for good.
	sqlForgetOldAnswers = `DELETE FROM answer WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM answer WHERE at < $2::timestamptz ORDER BY at LIMIT $1::bigint))`
	sqlForgetMoreAnswers = `DELETE FROM answer WHERE ctid = ANY(ARRAY(
		SELECT beyond.row FROM unnest($1::text[]) AS o(owner)
		CROSS JOIN LATERAL (SELECT l.place FROM answer l WHERE l.owner = o.owner ORDER BY l.place DESC LIMIT 1) AS last
		CROSS JOIN LATERAL (SELECT a.ctid AS row FROM answer a WHERE a.owner = o.owner AND a.place <= last.place - $2::bigint OFFSET 0) AS beyond))`

	sqlAnswer = `SELECT owner, key, hash, body, at FROM answer WHERE owner = $1 AND key = $2`
)
