package postgres

// All SQL by which history ages. Attempts are called a, their jobs j.

const (
	// A chunk are the attempts of the jobs up to an item, of which all attempts are in it.
	inChunk = ` a.job = ANY($1::bigint[]) AND (a.job, a.item) <= ($2::bigint, $3::integer) `

	// How the rows of attempts count. What a worker did not measure is taken to have run until its end, as it is
	// charged; the ledger says what was measured.
	attemptWall = `CASE WHEN a.wall > 0 OR a.state NOT IN ('lost', 'killed', 'preempted') THEN a.wall + a.suspended
		ELSE extract(epoch FROM a.ended_at - a.started_at)::double precision END`
	attemptHeld = `greatest(` + attemptWall + ` - a.released, 0)` // for which it held its slots
	// The kind of an attempt in the sums and in every report. Attempts with a result have their kind of work. Attempts
	// stopped by an action or for other work count as preempted or killed, not as failed. All others are failed.
	attemptKind = `CASE WHEN a.state IN ('done', 'superseded') THEN a.kind WHEN a.state IN ('preempted', 'killed') THEN a.state ELSE 'failed' END`
	attemptUsed = `(coalesce(a.charge_cpu, 0) + coalesce(a.charge_ram, 0) + coalesce(a.charge_gpu, 0) + coalesce(a.charge_scratch, 0))`
	attemptDay  = `(a.ended_at AT TIME ZONE 'UTC')::date`
	// What is left of a use at the end of its day; $4 is the half-life in seconds, 0 for none. Beyond 900 half-lives
	// a double would underflow, which Postgres takes for an error.
	leftAtDaysEnd = `CASE WHEN $4::double precision > 0 THEN power(0.5::double precision, least(extract(epoch FROM
		(` + attemptDay + ` + 1)::timestamp AT TIME ZONE 'UTC' - a.ended_at)::double precision / $4, 900)) ELSE 1 END`

	sqlClock = `SELECT clock_timestamp()`

	zeroTime = `timestamptz '0001-01-01 00:00:00Z'` // Go's, for what has not happened

	// A job that others wait for stays as it is: it may have to run again for them. Whether all attempts of a job have
	// ended is looked at when they are compacted: here it would be a scan of all attempts of the farm.
	sqlClosed = `SELECT id FROM job WHERE finished_at < $1 AND finished_at IS NOT NULL AND compacted_at IS NULL
		AND id <> ALL($3::bigint[])
		AND id NOT IN (SELECT jsonb_path_query(w.wait_for, '$[*].job')::bigint FROM job w
			WHERE w.state IN ('active', 'blocked', 'suspended'))
		ORDER BY finished_at, id LIMIT $2`

	sqlWaitFor = `SELECT id FROM job WHERE state IN ('active', 'blocked', 'suspended')
		AND $1::bigint IN (SELECT jsonb_path_query(wait_for, '$[*].job')::bigint) ORDER BY id LIMIT 5`

	sqlWithLogs = `SELECT id, compacted IS NOT NULL FROM job WHERE finished_at < $1 AND finished_at IS NOT NULL
		AND (logs_removed_at IS NULL OR logs_removed_at < finished_at) AND ($3::text[] IS NULL OR owner = ANY($3)) ORDER BY finished_at, id LIMIT $2`
	sqlOwners      = `SELECT id, owner FROM job WHERE id = ANY($1::bigint[])`
	sqlLogsRemoved = `UPDATE job SET logs_removed_at = $2 WHERE id = ANY($1::bigint[])`
	sqlPast        = `SELECT compacted IS NOT NULL, coalesce(logs_removed_at, ` + zeroTime + `) FROM job WHERE id = $1`

	sqlHoldClosed = `SELECT id FROM job WHERE id = ANY($1::bigint[]) AND finished_at < $2 AND compacted_at IS NULL
		AND state IN ('complete', 'failed', 'killed') ORDER BY id FOR UPDATE`

	sqlChunkEnd = `SELECT job, item, place FROM (SELECT job, item, row_number() OVER (ORDER BY job, item) AS place
		FROM attempt WHERE job = ANY($1::bigint[]) ORDER BY job, item LIMIT $2) AS first ORDER BY place DESC LIMIT 1`

	// One statement reads and removes the rows of a chunk, adds them to the sums of their days and to what is kept of
	// their jobs, and returns them: read for each of these again, they would cost more than all the rest.
	sqlCompactChunk = `WITH a AS (DELETE FROM attempt a WHERE` + inChunk + `AND a.ended_at IS NOT NULL
			RETURNING a.job, a.item, a.state, a.again, a.reason, a.kind, a.host, a.owner, a.slots, a.memory, a.wall, a.cpu, a.peak,
			a.started_at, a.ended_at, a.suspended, a.released, a.charge_cpu, a.charge_ram, a.charge_gpu, a.charge_scratch, a.charged),
		found AS (DELETE FROM attempt_found a WHERE` + inChunk + `),
		days AS (` + addToDays + `),
		jobs AS (` + addToJobs + `)
		SELECT a.job, a.item, a.state, a.ended_at, a.again = 0 FROM a ORDER BY a.job, a.item`
	addToDays = `INSERT INTO usage_day AS d (day, owner, account, cluster, host, kind, charged, tags, attempts, wall,
		slot_seconds, cpu_seconds, memory_seconds, used_cpu, used_ram, used_gpu, used_scratch, left_cpu, left_ram,
		left_gpu, left_scratch)
		SELECT day, owner, account, cluster, host, kind, charged, tags, count(*), sum(wall), sum(slots * held), sum(cpu),
		sum(bytes * wall), sum(used_cpu), sum(used_ram), sum(used_gpu), sum(used_scratch), sum(used_cpu * rest),
		sum(used_ram * rest), sum(used_gpu * rest), sum(used_scratch * rest)
		FROM (SELECT ` + attemptDay + ` AS day, a.owner, j.account, j.cluster, a.host, ` + attemptKind +
		` AS kind, a.charged, j.tags,
			` + attemptWall + ` AS wall, ` + attemptHeld + ` AS held, a.slots, a.cpu, greatest(a.memory, a.peak) AS bytes,
			coalesce(a.charge_cpu, 0) AS used_cpu, coalesce(a.charge_ram, 0) AS used_ram,
			coalesce(a.charge_gpu, 0) AS used_gpu, coalesce(a.charge_scratch, 0) AS used_scratch, ` + leftAtDaysEnd + ` AS rest
			FROM a JOIN job j ON j.id = a.job WHERE j.id = ANY($1)) AS a
		GROUP BY day, owner, account, cluster, host, kind, charged, tags
		ON CONFLICT (day, kind, charged, key) DO UPDATE SET
		attempts = d.attempts + excluded.attempts, wall = d.wall + excluded.wall,
		slot_seconds = d.slot_seconds + excluded.slot_seconds, cpu_seconds = d.cpu_seconds + excluded.cpu_seconds,
		memory_seconds = d.memory_seconds + excluded.memory_seconds, used_cpu = d.used_cpu + excluded.used_cpu,
		used_ram = d.used_ram + excluded.used_ram, used_gpu = d.used_gpu + excluded.used_gpu,
		used_scratch = d.used_scratch + excluded.used_scratch, left_cpu = d.left_cpu + excluded.left_cpu,
		left_ram = d.left_ram + excluded.left_ram, left_gpu = d.left_gpu + excluded.left_gpu,
		left_scratch = d.left_scratch + excluded.left_scratch`
	// Of the last job there may be more attempts.
	addToJobs = `UPDATE job j SET version = j.version + 1, compacted = coalesce(j.compacted, 0) + u.attempts,
		compacted_at = CASE WHEN j.id < $2 THEN $5::timestamptz END,
		first_start = least(j.first_start, u.first_start), done_wall = j.done_wall + u.done_wall, done_count = j.done_count + u.done,
		failed_attempts = j.failed_attempts + u.failed,
		peaks_returned = j.peaks_returned + u.returned, peak_returned = greatest(j.peak_returned, u.peak),
		peak_largest = greatest(j.peak_largest, u.largest), ran_out = j.ran_out + u.ran_out, ran_out_at = greatest(j.ran_out_at, u.ran_out_at)
		FROM (SELECT a.job, count(*) AS attempts, min(a.started_at) AS first_start,
			coalesce(sum(a.wall) FILTER (WHERE a.state = 'done'), 0) AS done_wall, count(*) FILTER (WHERE a.state = 'done') AS done,
			count(*) FILTER (WHERE a.state = 'failed') AS failed,` + pastMemoryColumns + `
			FROM a GROUP BY a.job) AS u WHERE j.id = u.job AND j.id = ANY($1)`

	// The marks of the chunk's items, and those next to them.
	sqlTakeMarks = `DELETE FROM item_mark m USING unnest($1::bigint[], $2::integer[], $3::integer[]) AS u(job, first, last)
		WHERE m.job = u.job AND m.last + m.step >= u.first AND m.first <= u.last + m.step
		RETURNING m.job, m.first, m.last, m.step, m.kind, m.by, m.at`
	sqlCountChunk = `SELECT count(*) FROM attempt a WHERE` + inChunk

	sqlNoteCompacted = `UPDATE job SET version = version + 1, compacted = coalesce(compacted, 0), compacted_at = $2
		WHERE id = ANY($1::bigint[]) AND compacted_at IS NULL`

	sqlExpired     = `SELECT id FROM job WHERE finished_at < $1 AND compacted_at IS NOT NULL ORDER BY finished_at, id LIMIT $2`
	sqlHoldExpired = `SELECT id FROM job WHERE id = ANY($1::bigint[]) AND finished_at < $2 AND compacted_at IS NOT NULL
		ORDER BY id FOR UPDATE`
	sqlRemove = `WITH gone AS (DELETE FROM job WHERE id = ANY($1::bigint[])
			AND NOT EXISTS (SELECT FROM attempt a WHERE a.job = job.id) RETURNING id, compacted),
		sums AS (SELECT count(*) AS jobs, coalesce(sum(compacted), 0) AS attempts, coalesce(max(id), 0) AS last_job FROM gone)
		UPDATE removed r SET jobs = r.jobs + s.jobs, attempts = r.attempts + s.attempts, last_job = greatest(r.last_job, s.last_job)
		FROM sums s WHERE s.jobs > 0 RETURNING s.jobs`
	// Numbers beyond the last that was removed may be of a database that this one was restored from: they are not gone.
	sqlGone = `SELECT u.id FROM unnest($1::bigint[]) AS u(id) WHERE u.id <= (SELECT last_job FROM removed)
		AND NOT EXISTS (SELECT FROM job WHERE job.id = u.id) ORDER BY u.id`
	sqlRemoveMarks  = `DELETE FROM item_mark WHERE job = ANY($1::bigint[])`
	sqlRemoveEvents = `DELETE FROM event WHERE job = ANY($1::bigint[])`
	sqlEnded        = `SELECT id, coalesce(finished_at, ` + zeroTime + `) FROM job WHERE id = ANY($1::bigint[])`

	sqlCompactedNumbers = `SELECT id, first_start, done_wall, done_count, failed_attempts, peaks_returned, peak_returned, peak_largest, ran_out, ran_out_at FROM job
		WHERE id = ANY($1::bigint[]) AND compacted IS NOT NULL`
	sqlWhichCompacted = `SELECT id FROM job WHERE id = ANY($1::bigint[]) AND compacted IS NOT NULL`
	sqlIsCompacted    = `SELECT compacted IS NOT NULL FROM job WHERE id = $1`
)
