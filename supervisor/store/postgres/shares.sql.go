package postgres

// All SQL of usage, shares and credit.

const (
	shareColumns       = `path, shares, by, at`
	budgetColumns      = `path, amount, period, beyond, since, spent, by, at`
	publicationColumns = `source, owner, date, state, by, at`
	accountColumns     = `path, users, groups, default_for, by, at`
	creditColumns      = `owner, amount, source, date, by, added_at`

	// A payer's row and what commits have noted since; the view usage is the two together.
	sqlPayers = `SELECT id, account, owner FROM payer`
	sqlNews   = `SELECT u.account, u.owner, u.cpu, u.ram, u.gpu, u.scratch, u.at FROM usage u
		JOIN payer p ON p.account = u.account AND p.owner = u.owner
		WHERE p.id IN (SELECT unnest(payer) FROM usage_news)`
	sqlCountNews = `SELECT count(*), coalesce(sum(cardinality(payer)), 0) FROM usage_news`
	sqlAddPayers = `INSERT INTO payer (account, owner, id, cpu, ram, gpu, scratch, at)
		SELECT account, owner, id, cpu, ram, gpu, scratch, at
		FROM unnest($1::text[], $2::text[], $3::integer[], $4::double precision[], $5::double precision[],
		$6::double precision[], $7::double precision[], $8::timestamptz[]) AS u(account, owner, id, cpu, ram, gpu, scratch, at)`
	sqlAddNews  = `INSERT INTO usage_news (payer, cpu, ram, gpu, scratch, at) VALUES ($1, $2, $3, $4, $5, $6)`
	sqlFoldNews = `UPDATE payer p SET cpu = u.cpu, ram = u.ram, gpu = u.gpu, scratch = u.scratch, at = u.at
		FROM unnest($1::integer[], $2::double precision[], $3::double precision[], $4::double precision[],
		$5::double precision[], $6::timestamptz[]) AS u(id, cpu, ram, gpu, scratch, at) WHERE p.id = u.id`
	sqlDropNews = `DELETE FROM usage_news`

	sqlPutShares = `INSERT INTO share (` + shareColumns + `) SELECT ` + shareColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(path text, shares double precision, by text, at timestamptz)
		ON CONFLICT (path) DO UPDATE SET shares = excluded.shares, by = excluded.by, at = excluded.at`
	sqlAddCredit = `INSERT INTO credit (` + creditColumns + `) SELECT ` + creditColumns + `
		FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (owner text, amount double precision, source text, date timestamptz, by text, added_at timestamptz))
		WITH ORDINALITY AS u(owner, amount, source, date, by, added_at, place) ORDER BY place`

	sqlPutAccounts = `INSERT INTO account (` + accountColumns + `) SELECT ` + accountColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(path text, users text[], groups text[], default_for text[], by text, at timestamptz)
		ON CONFLICT (path) DO UPDATE SET users = excluded.users, groups = excluded.groups, default_for = excluded.default_for,
		by = excluded.by, at = excluded.at`
	sqlDropAccounts = `DELETE FROM account WHERE path = ANY($1::text[])`
	sqlLoadAccounts = `SELECT ` + accountColumns + ` FROM account ORDER BY path COLLATE "C"`
	sqlPutBudgets   = `INSERT INTO budget (` + budgetColumns + `) SELECT ` + budgetColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(path text, amount double precision, period bigint, beyond text, since timestamptz,
		spent double precision[], by text, at timestamptz)
		ON CONFLICT (path) DO UPDATE SET amount = excluded.amount, period = excluded.period, beyond = excluded.beyond,
		since = excluded.since, spent = excluded.spent, by = excluded.by, at = excluded.at`
	sqlDropBudgets     = `DELETE FROM budget WHERE path = ANY($1::text[])`
	sqlLoadBudgets     = `SELECT ` + budgetColumns + ` FROM budget ORDER BY path COLLATE "C"`
	sqlPutPublications = `INSERT INTO publication (` + publicationColumns + `) SELECT ` + publicationColumns + `
		FROM jsonb_to_recordset($1::jsonb) AS u(source text, owner text, date timestamptz, state text, by text, at timestamptz)
		ON CONFLICT (source) DO UPDATE SET owner = excluded.owner, date = excluded.date, state = excluded.state,
		by = excluded.by, at = excluded.at`
	sqlLoadPublications = `SELECT ` + publicationColumns + ` FROM publication ORDER BY source COLLATE "C"`

	sqlLoadUsage  = `SELECT account, owner, cpu, ram, gpu, scratch, at FROM usage ORDER BY account COLLATE "C", owner COLLATE "C"`
	sqlLoadShares = `SELECT ` + shareColumns + ` FROM share ORDER BY path COLLATE "C"`
	sqlLoadCredit = `SELECT ` + creditColumns + ` FROM credit ORDER BY id`
	sqlCredits    = `SELECT ` + creditColumns + ` FROM credit WHERE $1::text = '' OR owner = $1 ORDER BY id DESC LIMIT $2`
	sqlShares     = `SELECT ` + shareColumns + ` FROM share ORDER BY path COLLATE "C" LIMIT $1`

	// An owner's ledger by day, in some accounts, of attempts and of what has become of them; docs/fairshare.md has the
	// same as one sum. A half-life of 0 decays nothing; beyond 900 of them a double would underflow, which Postgres takes
	// for an error.
	sqlLedger = `SELECT day::timestamp AT TIME ZONE 'UTC' AS day, charged, sum(attempts)::bigint AS attempts,
		sum(wall) AS wall, sum(used) AS charge, sum(kept * CASE WHEN $4::double precision > 0 THEN power(0.5::double precision,
			least(greatest(extract(epoch FROM $3::timestamptz - since), 0)::double precision / $4, 900)) ELSE 1 END) AS decayed
		FROM (SELECT ` + attemptDay + ` AS day, a.charged, 1 AS attempts, ` + attemptWall + ` AS wall,
				` + attemptUsed + ` AS used, ` + attemptUsed + ` AS kept, a.ended_at AS since
			FROM job j JOIN attempt a ON a.job = j.id
			WHERE j.owner = $1 AND a.owner = $1 AND j.account = ANY($2::text[]) AND a.ended_at IS NOT NULL
			UNION ALL
			SELECT day, charged, attempts, wall, used_cpu + used_ram + used_gpu + used_scratch,
				left_cpu + left_ram + left_gpu + left_scratch, (day + 1)::timestamp AT TIME ZONE 'UTC'
			FROM usage_day WHERE owner = $1 AND account = ANY($2::text[])) AS used
		GROUP BY day, charged ORDER BY day, charged DESC LIMIT $5`
)
