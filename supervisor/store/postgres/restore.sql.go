package postgres

// What the row of terms says of farm and database, and what becomes of it when rows were put back.

const (
	sqlDescent = `SELECT farm_key, coalesce(lineage, ''), coalesce(identity, ''), coalesce(superseded_by, ''), timeline, newer_timeline FROM supervisor FOR UPDATE`

	// Only a server that is no replica can be asked which file it writes; the file's name begins with the timeline.
	sqlTimeline = `SELECT CASE WHEN pg_is_in_recovery() THEN -1 ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END`

	sqlEpoch = `SELECT epoch FROM supervisor`

	sqlSetTimeline = `UPDATE supervisor SET timeline = $1`

	sqlNotePromotion = `INSERT INTO restore (at, reason, epoch, lineage) SELECT clock_timestamp(), 'promotion', epoch, $1 FROM supervisor`

	sqlOlderRows = `SELECT newer_timeline, greatest(checked_at, (SELECT max(greatest(started_at, ended_at)) FROM attempt)), extract(epoch FROM clock_timestamp() - checked_at)::float8,
		(SELECT count(*) FROM job), (SELECT count(*) FROM attempt), greatest((SELECT max(id) FROM job), (SELECT last_job FROM removed), 0)::float8 FROM supervisor`

	sqlGivenUp = `SELECT (SELECT count(*) FROM job WHERE id > $1), (SELECT count(*) FROM attempt WHERE started_at > $2), (SELECT count(*) FROM attempt WHERE ended_at > $2)`

	sqlAcceptOlder = `WITH old AS (SELECT lineage FROM supervisor FOR UPDATE), noted AS (
			INSERT INTO restore (at, reason, epoch, lineage, predecessor) SELECT clock_timestamp(), 'accepted', epoch, $1, lineage FROM supervisor)
		UPDATE supervisor SET lineage = $1, newer_timeline = 0, superseded_by = NULL FROM old`

	sqlOlder = `UPDATE supervisor SET newer_timeline = greatest(newer_timeline, $2) WHERE epoch = $1`

	sqlIdentity = `SELECT (SELECT system_identifier FROM pg_control_system()) || '/' ||
		(SELECT oid FROM pg_database WHERE datname = current_database())`

	sqlDatabaseIdentity = `SELECT '?/' || oid FROM pg_database WHERE datname = current_database()`

	// The row of a copy says of the original whether that was superseded.
	sqlSetDescent = `UPDATE supervisor SET farm_key = coalesce(farm_key, $1), lineage = $2, identity = $3,
		superseded_by = CASE WHEN $4::boolean THEN NULL ELSE superseded_by END`

	sqlFarmKey = `SELECT farm_key FROM supervisor`

	sqlNoteCopy = `INSERT INTO restore (at, reason, epoch, lineage, predecessor)
		SELECT clock_timestamp(), 'copy', epoch, $1, $2 FROM supervisor`

	sqlUnsettled = `SELECT count(*) > 0, count(*) FILTER (WHERE predecessor IS NOT NULL AND reason <> 'higher-term') > 0
		FROM restore WHERE settled_at IS NULL`

	sqlFloors = `SELECT coalesce(max(job_floor), 0), coalesce(max(attempt_floor), 0) FROM restore`

	sqlLastAttempt = `SELECT coalesce(max(number), 0) FROM attempt`

	// The term ends with this: the row is at the term that was heard of, and the next one is above it.
	sqlSucceed = `WITH raised AS (UPDATE supervisor SET epoch = $2 WHERE epoch = $1 AND epoch <= $2 RETURNING lineage)
		INSERT INTO restore (at, reason, epoch, heard, lineage, predecessor)
		SELECT clock_timestamp(), 'higher-term', $1, $2, lineage, nullif($3, lineage) FROM raised`

	sqlSupersede = `UPDATE supervisor SET superseded_by = $2 WHERE epoch = $1`

	// Hosts may have obeyed others of the numbers that were given before: their begins are of no use any more.
	sqlSettle = `WITH own AS (UPDATE supervisor SET terms = terms[1:2] WHERE epoch = $1 RETURNING epoch)
		UPDATE restore SET settled_at = clock_timestamp(), job_floor = $2, attempt_floor = $3
		WHERE settled_at IS NULL AND EXISTS (SELECT FROM own)`

	// Of a database that a restore is about to replace.
	sqlHasTables = `SELECT to_regclass('public.supervisor') IS NOT NULL,
		EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm'))`
	sqlReplaced = `SELECT epoch, extract(epoch FROM clock_timestamp() - checked_at)::float8,
		coalesce(lineage, ''), coalesce(superseded_by, ''),
		greatest((SELECT max(id) FROM job), (SELECT last_job FROM removed), (SELECT max(job_floor) FROM restore), 0),
		greatest((SELECT max(number) FROM attempt), (SELECT max(attempt_floor) FROM restore), 0) FROM supervisor`
	sqlServerVersion = `SELECT current_setting('server_version_num')::int`
	sqlDepose        = `UPDATE supervisor SET epoch = epoch + 1`
	sqlWaitLock      = `SELECT pg_advisory_lock($1)`
	sqlRestored      = `SELECT epoch, (SELECT count(*) FROM job), (SELECT count(*) FROM attempt) FROM supervisor`

	sqlRestoreEvent = `INSERT INTO event (epoch, at, type, host, by, cause) VALUES ($1, clock_timestamp(), $2, '', '', $3)`
)
