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

	// Only the oldest are looked at, which costs as little as what was added.
	sqlForgetOldAnswers = `DELETE FROM answer a USING (SELECT owner, key FROM answer WHERE at < $2::timestamptz ORDER BY at LIMIT $1::bigint) AS old
		WHERE a.owner = old.owner AND a.key = old.key`
	sqlForgetMoreAnswers = `DELETE FROM answer a USING (SELECT o.owner, (SELECT max(place) FROM answer m WHERE m.owner = o.owner) - $2::bigint AS last
			FROM (SELECT DISTINCT unnest($1::text[])) AS o(owner)) AS too
		WHERE a.owner = too.owner AND a.place <= too.last`

	sqlAnswer = `SELECT owner, key, hash, body, at FROM answer WHERE owner = $1 AND key = $2`
)
