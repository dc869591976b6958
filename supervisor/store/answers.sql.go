package store

// All SQL of the answers to changes that carried a key.

const (
	// A row that is there is an error: whoever repeats a call is answered from it, and changes nothing.
	sqlAddAnswers = `INSERT INTO answer (owner, key, hash, body, at, place)
		SELECT u.owner, u.key, u.hash, u.body, u.at,
		coalesce((SELECT max(place) FROM answer), 0) + sum(1 + octet_length(u.body) / 16384) OVER (ORDER BY u.n)
		FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::timestamptz[])
		WITH ORDINALITY AS u(owner, key, hash, body, at, n)`

	// Only the oldest are looked at, which costs as little as what was added.
	sqlForgetAnswers = `DELETE FROM answer a USING (SELECT place FROM answer ORDER BY place LIMIT $1::bigint) AS old
		WHERE a.place = old.place AND (a.at < $2::timestamptz OR a.place <= (SELECT max(place) FROM answer) - $3::bigint)`

	sqlAnswer = `SELECT owner, key, hash, body, at FROM answer WHERE owner = $1 AND key = $2`
)
