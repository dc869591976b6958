package postgres

// All SQL of the audit trail.

const (
	sqlAddAudits = `INSERT INTO audit (at, who, token, origin, verb, object, outcome, code, detail, request, times)
		SELECT at, who, token, origin, verb, object, outcome, code, detail::jsonb, request, times
		FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::text[], $11::bigint[]) AS u(at, who, token, origin, verb, object, outcome, code, detail, request, times)`

	sqlAuditLog = `SELECT id, at, who, token, origin, verb, object, outcome, code, detail::text, request, times FROM audit
		WHERE ($1::text = '' OR who = $1) AND ($2::timestamptz IS NULL OR at >= $2) AND ($3::bigint = 0 OR id < $3)
		ORDER BY id DESC LIMIT $4`

	sqlForgetAudits = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY id LIMIT $2)`
)
