package postgres

// All SQL of reports.

const (
	// Days and attempts never tell of the same work: an attempt becomes part of a day in the transaction that removes
	// it. The job's own times bound what is looked at, for attempts have no index by time; a day is added to each
	// side for clocks that were set back. OFFSET makes Postgres read the attempts of each of these jobs by key, and
	// not all attempts of the farm.
	sqlStats = `SELECT CASE WHEN 'day' = ANY($3::text[]) THEN day END AS day,
		CASE WHEN 'user' = ANY($3) THEN owner ELSE '' END COLLATE "C" AS owner, CASE WHEN 'account' = ANY($3) THEN account ELSE '' END COLLATE "C" AS account,
		CASE WHEN 'cluster' = ANY($3) THEN cluster ELSE '' END COLLATE "C" AS cluster, CASE WHEN 'host' = ANY($3) THEN host ELSE '' END COLLATE "C" AS host,
		CASE WHEN 'kind' = ANY($3) THEN kind ELSE '' END COLLATE "C" AS kind,
		CASE WHEN cardinality($9::text[]) > 0 THEN ARRAY(SELECT coalesce(tags->>w.name, '') FROM unnest($9) WITH ORDINALITY AS w(name, place) ORDER BY w.place)
			ELSE '{}' END COLLATE "C" AS tagged,
		CASE WHEN 'class' = ANY($3) THEN coalesce(c.class, '') ELSE '' END COLLATE "C" AS class,
		sum(attempts)::bigint AS attempts, sum(slot_seconds) AS slots, sum(cpu_seconds) AS cpu, sum(memory_seconds) AS memory,
		coalesce(sum(slot_seconds) FILTER (WHERE kind = 'secondary'), 0) AS secondary,
		coalesce(sum(slot_seconds) FILTER (WHERE kind = 'preempted'), 0) AS preempted,
		coalesce(sum(slot_seconds) FILTER (WHERE kind = 'killed'), 0) AS killed,
		coalesce(sum(slot_seconds) FILTER (WHERE kind = 'failed'), 0) AS failed,
		coalesce(sum(used) FILTER (WHERE charged), 0) AS charged
		FROM (SELECT day, owner, account, cluster, host, kind, charged, tags, attempts, slot_seconds, cpu_seconds, memory_seconds,
				used_cpu + used_ram + used_gpu + used_scratch AS used
			FROM usage_day WHERE day >= $1::date AND day < $2::date
			UNION ALL
			SELECT ` + attemptDay + `, a.owner, j.account, j.cluster, a.host, ` + attemptKind + `, a.charged, j.tags, 1,
				a.slots * ` + attemptHeld + `, a.cpu, greatest(a.memory, a.peak) * ` + attemptWall + `, ` + attemptUsed + `
			FROM job j CROSS JOIN LATERAL (SELECT a.ended_at, a.started_at, a.owner, a.host, a.kind, a.state, a.charged, a.slots,
				a.memory, a.peak, a.wall, a.cpu, a.suspended, a.released, a.charge_cpu, a.charge_ram, a.charge_gpu, a.charge_scratch
				FROM attempt a WHERE a.job = j.id AND a.ended_at >= $1::date::timestamp AT TIME ZONE 'UTC'
				AND a.ended_at < $2::date::timestamp AT TIME ZONE 'UTC' OFFSET 0) AS a
			WHERE (j.finished_at IS NULL OR j.finished_at >= ($1::date - 1)::timestamp AT TIME ZONE 'UTC')
			AND j.submitted_at < ($2::date + 1)::timestamp AT TIME ZONE 'UTC' AND j.compacted_at IS NULL) AS u
		LEFT JOIN unnest($11::text[], $12::text[]) AS c(name, class) ON c.name = u.host
		WHERE ($4::text = '' OR owner = $4) AND ($5::text = '' OR account = $5 OR starts_with(account, rtrim($5, '/') || '/'))
		AND ($6::text = '' OR cluster = $6 OR starts_with(cluster, rtrim($6, '/') || '/')) AND ($7::text = '' OR host = $7)
		AND tags @> $10::jsonb
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8 LIMIT $8`
)
