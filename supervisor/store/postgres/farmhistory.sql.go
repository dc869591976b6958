package postgres

const (
	sqlLastEvent   = `SELECT coalesce(max(id), 0) FROM event`
	sqlFarmHistory = `SELECT id, at, type, coalesce(job, 0), coalesce(item, -1), coalesce(instance, -1), host, by, cause, reason, params FROM event
		WHERE id >= $1::bigint AND id < $2::bigint AND ($3::text = '' OR by = $3) AND ($4::text = '' OR host = $4) AND ($5::text = '' OR type = $5)
			AND ($6::bigint = 0 OR job = $6) ORDER BY id DESC LIMIT $7`
)
