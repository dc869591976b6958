package postgres

// All SQL of readers, except for that on jobs (jobsql.go).

const (
	// What attempts tell of a job's memory: facts.PastMemory. An item that ran out for good has again = 0.
	pastMemoryColumns = `
		count(*) FILTER (WHERE state IN ('done', 'superseded') AND peak > 0) AS returned,
		coalesce(max(peak) FILTER (WHERE state IN ('done', 'superseded')), 0) AS peak,
		coalesce(max(peak), 0) AS largest,
		count(*) FILTER (WHERE again = 0 AND state = 'failed' AND reason IN ('memory_limit', 'out_of_memory')) AS ran_out,
		coalesce(max(CASE WHEN memory > 0 AND reason = 'memory_limit' THEN memory ELSE greatest(memory, peak) END)
			FILTER (WHERE again = 0 AND state = 'failed' AND reason IN ('memory_limit', 'out_of_memory')), 0) AS ran_out_at`

	// How an attempt failed, as failureOf reads it.
	failureText = `reason || ' ' || coalesce(exit_code, 0) || ' ' || coalesce(signal, 0)`

	// An item has at most one attempt with again = 0: live, done or a final end. It is the latest.
	sqlJobNumbers = `SELECT job,
		count(*) FILTER (WHERE state IN ('running', 'stopping')) AS running,
		count(*) FILTER (WHERE state = 'done') AS complete,
		count(*) FILTER (WHERE again = 0 AND state = 'killed') AS killed,
		count(*) FILTER (WHERE again = 0 AND state IN ('failed', 'preempted', 'lost')) AS failed,
		count(*) FILTER (WHERE state = 'failed') AS failed_attempts,
		coalesce(min(` + failureText +
		`) FILTER (WHERE again = 0 AND state IN ('failed', 'preempted', 'lost')), '') AS least_failure,
		coalesce(max(` + failureText +
		`) FILTER (WHERE again = 0 AND state IN ('failed', 'preempted', 'lost')), '') AS most_failure,
		min(started_at) AS started_at,
		coalesce(avg(wall) FILTER (WHERE state = 'done'), 0) AS mean_wall,` + pastMemoryColumns + `
		FROM attempt WHERE job = ANY($1::bigint[]) GROUP BY job`

	sqlPeakQuantiles = `SELECT job, percentile_disc($2::float8) WITHIN GROUP (ORDER BY peak) FROM attempt
		WHERE job = ANY($1::bigint[]) AND state IN ('done', 'superseded') AND peak > 0 GROUP BY job`

	// Such an attempt outweighs a mark.
	sqlMarkNumbers = `SELECT m.job, m.kind, sum((m.last - m.first) / m.step + 1 - (SELECT count(*) FROM attempt a
			WHERE a.job = m.job AND a.item BETWEEN m.first AND m.last AND (a.item - m.first) % m.step = 0 AND a.again = 0))::bigint AS items
		FROM item_mark m WHERE m.job = ANY($1::bigint[]) GROUP BY m.job, m.kind`

	sqlStored     = `SELECT coalesce(sum(bytes), 0)::bigint FROM job WHERE owner = $1`
	sqlSubmission = `SELECT id FROM job WHERE submission = $1`
	sqlLabels     = `SELECT label, max(id) FROM job WHERE pgrp = $1 AND label = ANY($2::text[]) AND label <> ''
		AND NOT coalesce(division ? 'part', false) GROUP BY label`
	sqlBefore    = `SELECT id, division -> 'jobs' FROM job WHERE id = ANY($1::bigint[]) AND division ? 'jobs'`
	sqlJobStates = `SELECT id, state FROM job WHERE id = ANY($1::bigint[])`

	sqlLastChange = `SELECT coalesce(max(changed_at), ` + zeroTime + `) FROM job_change`

	sqlMarks  = `SELECT first, last, step, kind, by, at FROM item_mark WHERE job = $1::bigint ORDER BY first`
	sqlLatest = `SELECT DISTINCT ON (item) ` + attemptColumns + ` FROM attempt
		WHERE job = $1::bigint AND item BETWEEN $2 AND $3 ORDER BY item, number DESC`
	sqlEndedSo = `SELECT item FROM attempt WHERE job = $1::bigint AND again = 0 AND ($2::text = '' OR host = $2::text)
		AND ($3::integer IS NULL OR exit_code = $3::integer) ORDER BY item`
	sqlFailedBefore = `SELECT item, count(*), (array_agg(host ORDER BY number DESC))[1], (array_agg(reason ORDER BY number DESC))[1], (array_agg(cause ORDER BY number DESC))[1]
		FROM attempt WHERE job = $1::bigint AND item BETWEEN $2 AND $3 AND state = 'failed' AND again <> 0 GROUP BY item ORDER BY item`
	sqlRecordAttempts = `SELECT ` + attemptColumns + ` FROM attempt WHERE job = $1::bigint ORDER BY item, number`
	sqlFound          = `SELECT item, number, highlights, outputpaths, result FROM attempt_found WHERE job = $1::bigint
		AND (item, number) >= ($2::integer, $3::integer) AND (item, number) <= ($4::integer, $5::integer)`
	sqlAttempts = `SELECT ` + attemptColumns + ` FROM attempt
		WHERE job = $1::bigint AND (item, number) > ($2, $3) ORDER BY item, number LIMIT $4`

	// Lines of the same time are sorted by rank: orders, then the ends they caused, what followed from those, starts,
	// and what became of the job.
	sqlHistoryBefore = `SELECT ` + historyColumns + historyLines + `
		WHERE (at, rank, turn, number) < ($2::timestamptz, $3, $4, $5) ORDER BY at DESC, rank DESC, turn DESC, number DESC LIMIT $6`
	sqlHistoryAfter = `SELECT ` + historyColumns + historyLines + `
		WHERE (at, rank, turn, number) > ($2::timestamptz, $3, $4, $5) ORDER BY at, rank, turn, number LIMIT $6`
	sqlHistoryEarlier = `SELECT count(*)` + historyLines + `
		WHERE (at, rank, turn, number) < ($2::timestamptz, $3, $4, $5)`
	historyColumns = `at, rank, turn, number, type, coalesce(item, -1) AS item, coalesce(instance, -1) AS instance, host, by, cause, reason, coalesce(params, '{}') AS params`
	historyLines   = ` FROM (
		SELECT at, CASE WHEN type LIKE 'job-%' THEN 3 WHEN type IN ('left', 'out-of-memory', 'cpu-overuse', 'item-held') THEN 2 ELSE 0 END AS rank, id AS turn, 0 AS number,
			type, item, instance, host, by, cause, reason, params FROM event WHERE job = $1::bigint
		UNION ALL
		SELECT ended_at, 1, item, number, 'item-' || CASE state WHEN 'superseded' THEN 'done' ELSE state END, item, instance,
			host, '', cause, reason, params FROM attempt WHERE job = $1 AND ended_at IS NOT NULL
		UNION ALL
		SELECT started_at, 2, item, number, 'item-started', item, instance, host, '', '', '', NULL FROM attempt WHERE job = $1
		UNION ALL
		SELECT compacted_at, 4, 0, 0, 'compacted', NULL, NULL, '', '', compacted || ' attempts became daily sums', '', NULL
			FROM job WHERE id = $1 AND compacted_at IS NOT NULL
		UNION ALL
		SELECT logs_removed_at, 4, 1, 0, 'logs-removed', NULL, NULL, '', '', 'the output of its items until then', '', NULL
			FROM job WHERE id = $1 AND logs_removed_at IS NOT NULL
		) AS history`

	tokenColumns = `id, mac, owner, role, created_at, expires_at, coalesce(last_used, ` + zeroTime +
		`), revoked, host_key, seal, uses_left, name, pending, session_of`
	sqlCreateToken = `INSERT INTO token (id, mac, owner, role, created_at, expires_at, last_used, revoked, host_key, seal, uses_left, name, pending, session_of)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	sqlToken       = `SELECT ` + tokenColumns + ` FROM token WHERE id = $1`
	sqlTokens      = `SELECT ` + tokenColumns + ` FROM token ORDER BY created_at, id LIMIT $1`
	sqlRevokeToken = `UPDATE token SET revoked = true, seal = '' WHERE id = $1`
	sqlGoodTokens  = `SELECT ` + tokenColumns + ` FROM token WHERE NOT revoked AND expires_at > $1
		ORDER BY host_key <> '', host_key <> '' AND last_used IS NULL, created_at DESC, id LIMIT $2`
	sqlTouchTokens = `UPDATE token t SET last_used = greatest(t.last_used, u.at) FROM unnest($1::text[], $2::timestamptz[]) AS u(id, at) WHERE t.id = u.id`
	sqlDropSpares  = `DELETE FROM token WHERE session_of <> '' AND expires_at < $1 OR host_key <> '' AND (expires_at < $1 OR last_used IS NULL AND created_at < $1 OR id IN (
		SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY host_key ORDER BY coalesce(last_used, created_at) DESC, id) AS place
			FROM token WHERE host_key <> '') AS ranked WHERE place > $2))`
	sqlChangeToken = `UPDATE token SET expires_at = $3, seal = $4, pending = $5 WHERE id = $1 AND seal = $2`
	sqlHostTokens  = `SELECT ` + tokenColumns +
		` FROM token WHERE host_key = $1 AND host_key <> '' ORDER BY created_at DESC, id LIMIT $2`
	sqlRevokeHost = `UPDATE token SET revoked = true, seal = '' WHERE host_key = $1 AND host_key <> ''`
	sqlUserTokens = `SELECT ` + tokenColumns +
		` FROM token WHERE owner = $1 AND host_key = '' ORDER BY created_at DESC, id LIMIT $2`
	// The seal covers the uses that are left, so of two exchanges at a time one finds another seal.
	sqlSpendToken = `UPDATE token SET uses_left = $3, seal = $4 WHERE id = $1 AND seal = $2 AND uses_left > 0 AND NOT revoked`
	// Tokens bound to a host do not belong to a user.
	sqlEndTokens = `UPDATE token SET revoked = true, seal = '' WHERE owner = $1 AND host_key = '' AND NOT revoked`

	sqlPeople    = `SELECT name, role, groups, leads, submit_as, rights, disabled, created_at, created_by, since, seal FROM person ORDER BY name COLLATE "C" LIMIT $1`
	sqlAddPerson = `INSERT INTO person (name, role, groups, leads, submit_as, rights, disabled, created_at, created_by, since, seal)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 WHERE (SELECT count(*) FROM person) < $12 ON CONFLICT DO NOTHING`
	sqlChangePerson = `UPDATE person SET role = $3, groups = $4, leads = $5, submit_as = $6, rights = $7, disabled = $8, created_at = $9, created_by = $10, since = $11, seal = $12
		WHERE name = $1 AND seal = $2`
	sqlRemovePerson = `DELETE FROM person WHERE name = $1`

	sqlLastEvent   = `SELECT coalesce(max(id), 0) FROM event`
	sqlFarmHistory = `SELECT id, at, type, coalesce(job, 0), coalesce(item, -1), coalesce(instance, -1), host, by, cause, reason, coalesce(params, '{}') FROM event
		WHERE id >= $1::bigint AND id < $2::bigint AND ($3::text = '' OR by = $3) AND ($4::text = '' OR host = $4) AND ($5::text = '' OR type = $5)
			AND ($6::bigint = 0 OR job = $6) ORDER BY id DESC LIMIT $7`
)
