package postgres

// The checks of an audit. Each yields job, item (null for none) and what is wrong in words.

const (
	sqlAuditJobs = `SELECT j.id, j.state, j.agenda, coalesce(a.attempts, 0), coalesce(j.compacted, 0), coalesce(a.last_item, -1),
		coalesce(a.done, 0), coalesce(a.stands, 0), coalesce(m.last_item, -1), coalesce(m.complete, 0), coalesce(m.items, 0)
		FROM job j
		LEFT JOIN (SELECT job, count(*) AS attempts, max(item) AS last_item,
			count(DISTINCT item) FILTER (WHERE state = 'done') AS done,
			count(DISTINCT item) FILTER (WHERE again = 0) AS stands
			FROM attempt GROUP BY job) a ON a.job = j.id
		LEFT JOIN (SELECT r.job, max(r.last) AS last_item,
			sum(r.items - r.done) FILTER (WHERE r.kind = 'complete')::bigint AS complete,
			sum(r.items - r.stands)::bigint AS items
			FROM (SELECT k.job, k.last, k.kind, (k.last - k.first) / k.step + 1 AS items,
				(SELECT count(DISTINCT x.item) FROM attempt x WHERE x.job = k.job AND x.item BETWEEN k.first AND k.last
					AND (x.item - k.first) % k.step = 0 AND x.state = 'done') AS done,
				(SELECT count(DISTINCT x.item) FROM attempt x WHERE x.job = k.job AND x.item BETWEEN k.first AND k.last
					AND (x.item - k.first) % k.step = 0 AND x.again = 0) AS stands
				FROM item_mark k) AS r GROUP BY r.job) m ON m.job = j.id
		ORDER BY j.id`

	sqlAuditIncomplete = `SELECT i FROM generate_series(0, $2::integer - 1) AS i
		WHERE NOT EXISTS (SELECT FROM attempt a WHERE a.job = $1::bigint AND a.item = i AND a.state = 'done')
		AND NOT EXISTS (SELECT FROM item_mark m WHERE m.job = $1 AND m.kind = 'complete' AND i BETWEEN m.first AND m.last AND (i - m.first) % m.step = 0)
		ORDER BY i LIMIT 5`

	// An item's attempt numbers rise by one; only the first attempt after a restore starts from another number, above its
	// floor.
	sqlAuditGaps = `SELECT job, item, format('attempt %s follows attempt %s', number, before) AS text
		FROM (SELECT job, item, number, coalesce(lag(number) OVER (PARTITION BY job, item ORDER BY number), 0) AS before FROM attempt) AS a
		WHERE number <> before + 1 AND number - 1 NOT IN (SELECT attempt_floor FROM restore WHERE attempt_floor IS NOT NULL)
		ORDER BY job, item, number LIMIT $1`

	sqlAuditTwice = `SELECT job, item, format('%s live, %s done, %s final attempts; only one may stand',
			count(*) FILTER (WHERE ended_at IS NULL), count(*) FILTER (WHERE state = 'done'),
			count(*) FILTER (WHERE again = 0 AND ended_at IS NOT NULL AND state <> 'done')) AS text
		FROM attempt GROUP BY job, item
		HAVING count(*) FILTER (WHERE again = 0 OR ended_at IS NULL OR state = 'done') > 1 ORDER BY job, item LIMIT $1`

	sqlAuditFollowed = `SELECT a.job, a.item, format('attempt %s is %s for good, but attempt %s follows', a.number, a.state, n.number) AS text
		FROM attempt a JOIN attempt n ON n.job = a.job AND n.item = a.item AND n.number > a.number
		WHERE a.again = 0 ORDER BY a.job, a.item LIMIT $1`

	sqlAuditStates = `SELECT job, item, format('attempt %s is %s with again = %s and end %s', number, state, again,
			coalesce(ended_at::text, 'none')) AS text
		FROM attempt
		WHERE (state IN ('running', 'stopping')) <> (ended_at IS NULL)
		OR NOT (state IN ('running', 'stopping', 'done') AND again = 0
			OR state IN ('failed', 'killed', 'preempted', 'lost') AND again IN (0, 1, 2) OR state = 'superseded' AND again = 2)
		ORDER BY job, item LIMIT $1`

	sqlAuditTimes = `SELECT job, item, format('attempt %s ends at %s, before its start at %s', number, ended_at, started_at) AS text
		FROM attempt WHERE ended_at < started_at ORDER BY job, item LIMIT $1`

	sqlAuditJobTimes = `SELECT id AS job, NULL::integer AS item, format('%s, submitted %s, finished %s', state, submitted_at,
			coalesce(finished_at::text, 'never')) AS text
		FROM job WHERE finished_at < submitted_at
		OR (state IN ('complete', 'failed', 'killed')) <> (finished_at IS NOT NULL) ORDER BY id LIMIT $1`

	sqlAuditLiveInFinal = `SELECT a.job, a.item, format('attempt %s is %s, but the job is %s', a.number, a.state, j.state) AS text
		FROM attempt a JOIN job j ON j.id = a.job
		WHERE a.ended_at IS NULL AND j.state IN ('complete', 'failed', 'killed') ORDER BY a.job, a.item LIMIT $1`

	sqlAuditOrphans = `SELECT a.job, a.item, format('attempt %s of a job that is not there', a.number) AS text
		FROM attempt a WHERE NOT EXISTS (SELECT FROM job j WHERE j.id = a.job)
		UNION ALL SELECT m.job, m.first, format('mark %s-%s of a job that is not there', m.first, m.last)
		FROM item_mark m WHERE NOT EXISTS (SELECT FROM job j WHERE j.id = m.job)
		UNION ALL SELECT f.job, f.item, format('what was found in the output of attempt %s, which is not there', f.number)
		FROM attempt_found f WHERE NOT EXISTS (SELECT FROM attempt a WHERE a.job = f.job AND a.item = f.item AND a.number = f.number)
		ORDER BY 1, 2 LIMIT $1`

	// An attempt whose row was compacted must be counted in the sums of exactly one day.
	sqlAuditHistory = `SELECT 0 AS job, NULL::integer AS item, format('days sum up %s attempts, but %s were compacted', d.attempts, j.attempts) AS text
		FROM (SELECT coalesce(sum(attempts), 0) AS attempts FROM usage_day) d,
		(SELECT coalesce(sum(compacted), 0) + (SELECT coalesce(sum(attempts), 0) FROM removed) AS attempts FROM job) j
		WHERE d.attempts <> j.attempts
		UNION ALL SELECT j.id, min(a.item), format('is compacted, but still has %s attempts', count(*)) FROM job j
		JOIN attempt a ON a.job = j.id WHERE j.compacted_at IS NOT NULL GROUP BY j.id
		UNION ALL SELECT 0, NULL, format('%s rows in table removed, must be 1', count(*)) FROM removed HAVING count(*) <> 1
		ORDER BY 1, 2 LIMIT $1`

	// Use decays at a pace that no row tells, so that only the bound can be checked: it never exceeds what was charged.
	sqlAuditUsage = `SELECT 0 AS job, NULL::integer AS item, format('%s in account "%s" has used %s, but all charges add up to %s',
			owner, account, coalesce(u.used, 0), coalesce(c.charges, 0)) AS text
		FROM (SELECT owner, account, cpu + ram + gpu + scratch AS used FROM usage) u
		FULL JOIN (SELECT owner, account, sum(charge) AS charges FROM (
			SELECT a.owner, j.account, ` + attemptUsed + ` AS charge FROM attempt a JOIN job j ON j.id = a.job WHERE a.charged
			UNION ALL SELECT owner, account, used_cpu + used_ram + used_gpu + used_scratch FROM usage_day WHERE charged) AS ledger
			GROUP BY owner, account) c USING (owner, account)
		WHERE u.used > coalesce(c.charges, 0) * (1 + 1e-9) OR u.used IS NULL AND c.charges > 0
		UNION ALL SELECT DISTINCT 0, NULL::integer, format('usage_news tells of payer %s, who has no row', n.id) FROM (SELECT unnest(payer) AS id FROM usage_news) n
		WHERE NOT EXISTS (SELECT FROM payer p WHERE p.id = n.id)
		ORDER BY text LIMIT $1`

	// What is live holds a place of its own: an instance, its GPUs, on a host that is known; but not what was given ahead,
	// as long as the attempt before it is live.
	sqlAuditHeld = `WITH live AS (SELECT job, item, number, host, instance, slots, memory, holds FROM attempt a WHERE ended_at IS NULL
			AND NOT EXISTS (SELECT FROM attempt b WHERE b.job = a.job AND b.item = a.behind_item AND b.number = a.behind_number
				AND b.ended_at IS NULL))
		SELECT job, max(item) AS item, format('%s live attempts hold instance %s', count(*), instance) AS text
		FROM live GROUP BY job, instance HAVING count(*) > 1
		UNION ALL SELECT l.job, l.item, format('attempt %s is live on host %s, which has no row', l.number, l.host)
		FROM live l WHERE NOT EXISTS (SELECT FROM host h WHERE h.id = l.host)
		UNION ALL SELECT max(l.job), NULL, format('%s live attempts hold device %s of host %s', count(*), d.device, l.host)
		FROM live l CROSS JOIN LATERAL jsonb_array_elements_text(l.holds -> 'devices') AS d(device) GROUP BY l.host, d.device HAVING count(*) > 1
		UNION ALL SELECT l.job, l.item, format('attempt %s is live with %s slots and %s bytes of memory', l.number, l.slots, l.memory)
		FROM live l WHERE l.slots < 0 OR l.memory < 0
		ORDER BY 1, 2 LIMIT $1`

	// What the leader must count as taken.
	sqlAuditLive = `SELECT ` + attemptColumns + ` FROM attempt WHERE ended_at IS NULL ORDER BY job, item, number`

	// The leader compares ends every hour, so it must not read what ended long ago: the job's own end bounds what is
	// looked at. A day more is for clocks that were set back.
	endRowColumns = `job, item, number, host, state_id, state, ended_at, exit_code`
	sqlEndsSince  = `SELECT a.job, a.item, a.number, a.host, a.state_id, a.state, a.ended_at, a.exit_code FROM job j
		CROSS JOIN LATERAL (SELECT ` + endRowColumns + ` FROM attempt a
			WHERE a.job = j.id AND (a.ended_at >= $1::timestamptz OR a.ended_at IS NULL) OFFSET 0) AS a
		WHERE j.finished_at IS NULL OR j.finished_at >= $1 - interval '1 day'`
	sqlEndsOf = `SELECT ` + endRowColumns +
		` FROM attempt WHERE (job, item) IN (SELECT job, item FROM unnest($1::bigint[], $2::integer[]) AS u(job, item))`

	sqlAuditRemoved = `SELECT coalesce(sum(jobs), 0) FROM removed`

	// Marks of which another, that begins earlier, reaches over: whether the two share an item, the caller works out.
	sqlAuditMarks = `SELECT job, first, last, step FROM (SELECT job, first, last, step,
			max(last) OVER (PARTITION BY job ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) >= first
			OR lead(first) OVER (PARTITION BY job ORDER BY first) <= last AS near
			FROM item_mark) AS m WHERE near ORDER BY job, first`

	sqlAuditEpochs = `SELECT coalesce(e.job, 0) AS job, e.item, format('event %s of epoch %s follows one of epoch %s', e.id, e.epoch, e.before) AS text
		FROM (SELECT id, job, item, epoch, lag(epoch) OVER (ORDER BY id) AS before FROM event) AS e WHERE e.epoch < e.before
		UNION ALL SELECT coalesce(e.job, 0), e.item, format('event %s of epoch %s, but the supervisor is at %s', e.id, e.epoch, s.epoch)
		FROM event e JOIN supervisor s ON e.epoch > s.epoch
		UNION ALL SELECT 0, NULL, format('%s rows in table supervisor, must be 1', count(*)) FROM supervisor HAVING count(*) <> 1
		ORDER BY 1, 2 LIMIT $1`
)

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
