package postgres

// All SQL of the audit trail.

const (
	sqlAddAudits = `INSERT INTO audit (at, who, token, origin, verb, object, outcome, code, detail, request, times)
		SELECT at, who, token, origin, verb, object, outcome, code, detail::jsonb, request, times
		FROM jsonb_to_recordset($1::jsonb) AS u(at timestamptz, who text, token text, origin text, verb text, object text, outcome text, code text,
			detail text, request text, times bigint)`

	sqlAuditLog = `SELECT id, at, who, token, origin, verb, object, outcome, code, detail::text, request, times FROM audit
		WHERE ($1::text = '' OR who = $1) AND ($2::timestamptz IS NULL OR at >= $2) AND ($3::bigint = 0 OR id < $3)
		ORDER BY id DESC LIMIT $4`

	sqlForgetAudits = `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY id LIMIT $2)`
)
