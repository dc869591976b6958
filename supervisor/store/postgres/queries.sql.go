package postgres

// All SQL of the leader, except for that on jobs (jobsql.go). Columns are listed, never "*"; a test prepares each
// constant against the schema. Statements on attempts take arrays, one element a row.

const attemptColumns = `job, item, number, host, boot, state_id, instance, kind, owner, slots, memory,
	state, again, reason, params, cause, exit_code, signal, wall, cpu, peak, started_at, ended_at, holds,
	charge_cpu, charge_ram, charge_gpu, charge_scratch, charged, suspended_at, suspended,
	released_at, released, resuming_at, behind_item, behind_number`

const markColumnNames = `job, first, last, step, kind, by, at`

const (
	orderColumnNames = `job, number, action, items, by, at, begun_at, next, affected, done`
	orderRecords     = `jsonb_to_recordset($1::jsonb) AS u(job bigint, number bigint, action text, items jsonb, by text, at timestamptz,
		begun_at timestamptz, next integer, affected bigint, done bigint)`
)

const hostColumns = `id, machine_id, boot, state_id, slots, memory, cluster, groups, properties, resources,
	locked_by, lock_reason, locked_slots, seen_at, spec, key`

const promiseColumns = `promised_lease, promised_grace, promised_margin, promised_until`

const (
	sqlTryLock = `SELECT pg_try_advisory_lock($1)`
	sqlUnlock  = `SELECT pg_advisory_unlock($1)`

	sqlRaiseEpoch = `UPDATE supervisor SET epoch = epoch + 1, leader = $1, since = at, checked_at = at,
		terms = (ARRAY[epoch + 1, (extract(epoch FROM at) * 1000000)::bigint] || terms)[1:$2]
		FROM (SELECT clock_timestamp() AS at) AS clock RETURNING epoch, at, terms[3:]`
	sqlTermEvent = `INSERT INTO event (epoch, at, type, host, by, cause)
		VALUES ($1, clock_timestamp(), 'term', '', $2::text, 'epoch ' || $1::bigint)`
	sqlLeader = `SELECT leader, epoch, extract(epoch FROM clock_timestamp() - checked_at)::float8, ` + promiseColumns +
		` FROM supervisor`
	sqlCheckEpoch = `UPDATE supervisor SET checked_at = clock_timestamp() WHERE epoch = $1`
	// The lock makes a new leader's raise wait for this transaction, and this one see a raise that came first.
	sqlHoldEpoch = `SELECT epoch FROM supervisor WHERE epoch = $1 FOR SHARE`

	sqlPromise    = `SELECT ` + promiseColumns + ` FROM supervisor`
	sqlPutPromise = `UPDATE supervisor SET promised_lease = $2, promised_grace = $3, promised_margin = $4, promised_until = $5 WHERE epoch = $1`

	sqlDeleteMarks = `DELETE FROM item_mark m
		USING unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[]) AS u(job, first, last, step, kind)
		WHERE m.job = u.job AND m.first = u.first AND m.last = u.last AND m.step = u.step AND m.kind = u.kind`
	sqlInsertMarks = `INSERT INTO item_mark (` + markColumnNames + `)
		SELECT ` + markColumnNames + ` FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[],
		$6::text[], $7::timestamptz[]) AS u(` + markColumnNames + `)`

	sqlAddOrders = `INSERT INTO item_order (` + orderColumnNames + `)
		SELECT ` + orderColumnNames + ` FROM ` + orderRecords
	sqlMoveOrders = `UPDATE item_order o SET begun_at = u.begun_at, next = u.next, affected = u.affected, done = u.done
		FROM ` + orderRecords + ` WHERE o.job = u.job AND o.number = u.number AND o.next <= u.next`
	sqlDropOrders = `DELETE FROM item_order o USING ` + orderRecords + ` WHERE o.job = u.job AND o.number = u.number`

	// Attempts are found by primary key, one for each element. What else a row must be is written as a condition on
	// both sides: one on the table alone makes the planner take the few rows it believes to fit and walk the arrays
	// for each of them. A live attempt is one without an end.
	sqlSendAway = `UPDATE attempt a SET reason = u.reason, params = u.params::jsonb, cause = u.cause
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::text[])
		AS u(job, item, number, reason, params, cause)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND (a.state = 'running') = (u.job > 0)`

	sqlSuspend = `UPDATE attempt a SET suspended_at = u.at, suspended = u.seconds, released_at = NULL, released = u.released, resuming_at = NULL
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::timestamptz[], $5::double precision[], $6::double precision[])
		AS u(job, item, number, at, seconds, released)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND (a.state = 'running') = (u.job > 0)
		AND (a.suspended_at IS NULL) = (u.at IS NOT NULL)`

	sqlRelease = `UPDATE attempt a SET released_at = u.at, resuming_at = u.resuming
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::timestamptz[], $6::timestamptz[])
		AS u(job, item, number, was, at, resuming)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND (a.state = 'running') = (u.job > 0)
		AND (a.suspended_at IS NOT NULL) = (u.was IN ('suspended', 'released', 'resuming'))
		AND (a.released_at IS NOT NULL) = (u.was IN ('released', 'resuming'))
		AND (a.resuming_at IS NOT NULL) = (u.was = 'resuming')
		AND (u.was <> '' AND u.at IS NOT NULL) = (u.job > 0)`

	sqlStop = `UPDATE attempt a SET state = 'stopping', reason = u.reason, params = u.params::jsonb, cause = u.cause
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::text[])
		AS u(job, item, number, reason, params, cause)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND (a.ended_at IS NULL) = (u.job > 0)`

	sqlRelabel = `UPDATE attempt a SET kind = u.kind
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[]) AS u(job, item, number, kind)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND (a.ended_at IS NULL) = (u.job > 0)`

	// A clock that was set back must not make an end precede its start; an end without a time fails the checks. A column
	// in which no end has a value comes as null.
	sqlEnd = `UPDATE attempt a SET state = u.state, again = coalesce(u.again, 0::smallint), reason = coalesce(u.reason, ''),
		params = u.params::jsonb, cause = coalesce(u.cause, ''), exit_code = u.exit_code,
		signal = u.signal, wall = u.wall, suspended = coalesce(u.suspended, 0), released = coalesce(u.released, 0),
		cpu = u.cpu, peak = u.peak, started_at = coalesce(u.started_at, a.started_at),
		ended_at = CASE WHEN u.ended_at < coalesce(u.started_at, a.started_at)
			THEN coalesce(u.started_at, a.started_at) ELSE u.ended_at END,
		charge_cpu = u.charge_cpu, charge_ram = u.charge_ram, charge_gpu = u.charge_gpu,
		charge_scratch = u.charge_scratch, charged = coalesce(u.charged, false)
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::smallint[], $7::text[],
		$8::bigint[], $9::bigint[], $10::double precision[], $11::double precision[], $12::bigint[], $13::timestamptz[],
		$14::double precision[], $15::double precision[], $16::double precision[], $17::double precision[], $18::boolean[],
		$19::text[], $20::text[], $21::double precision[], $22::double precision[], $23::timestamptz[])
		AS u(job, item, number, was, state, again, cause, exit_code, signal, wall, cpu, peak, ended_at, charge_cpu,
		charge_ram, charge_gpu, charge_scratch, charged, reason, params, suspended, released, started_at)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number AND a.state = u.was
		AND u.was IN ('running', 'stopping')`

	sqlAddFound = `INSERT INTO attempt_found (job, item, number, highlights, outputpaths, result)
		SELECT job, item, number, coalesce(highlights, '{}'), coalesce(outputpaths, '{}'), result
		FROM jsonb_to_recordset($1::jsonb) AS u(job bigint, item integer, number integer, highlights text[], outputpaths text[],
		result text)`

	// A superseded attempt stays one: its item was redone, killed before it ran, and is wanted again.
	sqlReopen = `UPDATE attempt a SET again = 2, state = CASE a.state WHEN 'done' THEN 'superseded' ELSE a.state END
		FROM unnest($1::bigint[], $2::integer[], $3::integer[]) AS u(job, item, number)
		WHERE a.job = u.job AND a.item = u.item AND a.number = u.number
		AND (a.ended_at IS NOT NULL) = (u.job > 0)
		AND NOT EXISTS (SELECT FROM attempt n WHERE n.job = u.job AND n.item = u.item AND n.number > u.number)`

	// The attempt before must have ended and left its item free to run again. The first after a restore has the number
	// after its floor; that the one before it left the item free is then the unique index's to say.
	sqlStart = `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory,
		state, again, cause, wall, cpu, peak, started_at, holds, behind_item,
		behind_number)
		SELECT u.job, u.item, u.number, u.host, u.boot, u.state_id, u.instance, u.kind, u.owner, u.slots, u.memory,
		u.state, 0, '', 0, 0, 0, u.started_at, u.holds::jsonb, u.behind_item, u.behind_number
		FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::bigint[],
		$8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::timestamptz[], $13::text[], $14::text[],
		$15::integer[], $16::integer[])
		AS u(job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, started_at, state, holds,
		behind_item, behind_number)
		WHERE u.state = 'running' AND CASE WHEN u.number = 1 THEN true ELSE coalesce(
			(SELECT p.again > 0 FROM attempt p WHERE p.job = u.job AND p.item = u.item AND p.number = u.number - 1),
			u.number - 1 IN (SELECT r.attempt_floor FROM restore r WHERE r.attempt_floor IS NOT NULL)) END`
	// Their jobs must be there.
	sqlJobsOfStarts = `SELECT id FROM job WHERE id = ANY($1::bigint[])`

	sqlNoteChange = `INSERT INTO job_change (job, changed_at) SELECT u.job, $2::timestamptz FROM unnest($1::bigint[]) AS u(job)
		ON CONFLICT (job) DO UPDATE SET changed_at = excluded.changed_at`

	sqlPutHosts = `INSERT INTO host (` + hostColumns + `) SELECT ` + hostColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(id text, machine_id text, boot text, state_id text, slots bigint,
		memory bigint, cluster text, groups text[], properties jsonb, resources jsonb, locked_by text,
		lock_reason text, locked_slots integer, seen_at timestamptz, spec double precision, key text)
		ON CONFLICT (id) DO UPDATE SET machine_id = excluded.machine_id, boot = excluded.boot,
		state_id = excluded.state_id, slots = excluded.slots, memory = excluded.memory, cluster = excluded.cluster,
		groups = excluded.groups, properties = excluded.properties, resources = excluded.resources,
		locked_by = excluded.locked_by, lock_reason = excluded.lock_reason, locked_slots = excluded.locked_slots, seen_at = excluded.seen_at, spec = excluded.spec, key = excluded.key`

	// Only jobs that are not final have live attempts.
	sqlRenameHost = `UPDATE attempt SET host = $2 WHERE host = $1 AND again = 0 AND state IN ('running', 'stopping')
		AND job = ANY(ARRAY(SELECT id FROM job WHERE state IN ('active', 'blocked', 'suspended')))`
	sqlDeleteHosts = `DELETE FROM host WHERE id = ANY($1::text[])`
	// The tokens of a removed host are deleted with it; a renamed host still has them.
	sqlForgetHosts = `DELETE FROM token WHERE host_key <> '' AND host_key IN (SELECT key FROM host WHERE id = ANY($1::text[]))`

	sqlAddEvents = `INSERT INTO event (epoch, at, type, job, item, instance, host, by, cause, reason, params)
		SELECT $1::bigint, at, type, nullif(job, 0), nullif(item, -1), nullif(instance, -1), host, by, cause, reason, params::jsonb
		FROM unnest($2::timestamptz[], $3::text[], $4::bigint[], $5::integer[], $6::bigint[], $7::text[], $8::text[],
		$9::text[], $10::text[], $11::text[]) WITH ORDINALITY AS u(at, type, job, item, instance, host, by, cause, reason, params, place)
		ORDER BY place`
)

// What a term starts from: every job that is not final, and what happened to it.
const (
	sqlLoadEnded = `SELECT id, state FROM job WHERE state NOT IN ('active', 'blocked', 'suspended') AND id IN
		(SELECT jsonb_path_query(w.wait_for, '$[*].job')::bigint FROM job w WHERE w.state IN ('active', 'blocked', 'suspended'))`
	sqlLoadMarks = `SELECT ` + markColumnNames + ` FROM item_mark
		WHERE job = ANY($1::bigint[]) ORDER BY job, first`
	sqlLoadOrders   = `SELECT ` + orderColumnNames + ` FROM item_order WHERE job = ANY($1::bigint[]) ORDER BY job, number`
	sqlLoadAttempts = `SELECT ` + attemptColumns + ` FROM attempt WHERE job = ANY($1::bigint[])`
	// The same attempts in one pass over the table: as lists, if facts.AttemptFacts.InShort; otherwise only the places
	// of their rows, with the number 0. These few are then read in full. A place is the row's for as long as the
	// snapshot, and finds it with neither an index nor a second pass.
	sqlLoadInShort = `SELECT job, CASE WHEN state = 'done' AND again = 0 AND reason = '' THEN number ELSE 0 END AS n,
		min(started_at), array_agg(item), array_agg(wall), array_agg(peak),
		array_agg(ctid) FILTER (WHERE NOT (state = 'done' AND again = 0 AND reason = ''))
		FROM attempt WHERE job = ANY($1::bigint[]) GROUP BY job, n`
	sqlLoadOthers = `SELECT ` + attemptColumns + ` FROM attempt WHERE ctid = ANY($1::tid[])`
	sqlLoadHosts  = `SELECT ` + hostColumns + ` FROM host ORDER BY id`
	sqlNextJob    = `SELECT greatest((SELECT max(id) FROM job), (SELECT last_job FROM removed), 0) + 1`
)
