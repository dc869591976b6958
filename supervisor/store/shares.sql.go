package store

// All SQL of usage, shares and credit.

const (
	usageColumns  = `account, owner, cpu, ram, gpu, scratch, at`
	shareColumns  = `path, shares, by, at`
	creditColumns = `owner, amount, source, date, by, added_at`

	sqlPutUsage = `INSERT INTO usage (` + usageColumns + `) SELECT ` + usageColumns + `
		FROM unnest($1::text[], $2::text[], $3::double precision[], $4::double precision[], $5::double precision[],
		$6::double precision[], $7::timestamptz[]) AS u(account, owner, cpu, ram, gpu, scratch, at)
		ON CONFLICT (account, owner) DO UPDATE SET cpu = excluded.cpu, ram = excluded.ram, gpu = excluded.gpu,
		scratch = excluded.scratch, at = excluded.at`
	sqlPutShares = `INSERT INTO share (` + shareColumns + `) SELECT ` + shareColumns + `
		FROM unnest($1::text[], $2::double precision[], $3::text[], $4::timestamptz[]) AS u(path, shares, by, at)
		ON CONFLICT (path) DO UPDATE SET shares = excluded.shares, by = excluded.by, at = excluded.at`
	sqlAddCredit = `INSERT INTO credit (` + creditColumns + `) SELECT ` + creditColumns + `
		FROM unnest($1::text[], $2::double precision[], $3::text[], $4::timestamptz[], $5::text[], $6::timestamptz[])
		WITH ORDINALITY AS u(owner, amount, source, date, by, added_at, place) ORDER BY place`

	sqlLoadUsage  = `SELECT ` + usageColumns + ` FROM usage ORDER BY account COLLATE "C", owner COLLATE "C"`
	sqlLoadShares = `SELECT ` + shareColumns + ` FROM share ORDER BY path COLLATE "C"`
	sqlLoadCredit = `SELECT ` + creditColumns + ` FROM credit ORDER BY id`
	sqlCredits    = `SELECT ` + creditColumns + ` FROM credit WHERE $1::text = '' OR owner = $1 ORDER BY id DESC LIMIT $2`
	sqlShares     = `SELECT ` + shareColumns + ` FROM share ORDER BY path COLLATE "C" LIMIT $1`

	// A payer's ledger by day, of attempts and of what has become of them; docs/fairshare.md has the same as one sum.
	// A half-life of 0 decays nothing; beyond 900 of them a double would underflow, which Postgres takes for an error.
	sqlLedger = `SELECT day::timestamp AT TIME ZONE 'UTC' AS day, charged, sum(attempts)::bigint AS attempts,
		sum(wall) AS wall, sum(used) AS charge, sum(kept * CASE WHEN $4::double precision > 0 THEN power(0.5::double precision,
			least(greatest(extract(epoch FROM $3::timestamptz - since), 0)::double precision / $4, 900)) ELSE 1 END) AS decayed
		FROM (SELECT ` + attemptDay + ` AS day, a.charged, 1 AS attempts, ` + attemptWall + ` AS wall,
				` + attemptUsed + ` AS used, ` + attemptUsed + ` AS kept, a.ended_at AS since
			FROM job j JOIN attempt a ON a.job = j.id
			WHERE j.owner = $1 AND a.owner = $1 AND j.account = $2 AND a.ended_at IS NOT NULL
			UNION ALL
			SELECT day, charged, attempts, wall, used_cpu + used_ram + used_gpu + used_scratch,
				left_cpu + left_ram + left_gpu + left_scratch, (day + 1)::timestamp AT TIME ZONE 'UTC'
			FROM usage_day WHERE owner = $1 AND account = $2) AS used
		GROUP BY day, charged ORDER BY day, charged DESC LIMIT $5`
)
