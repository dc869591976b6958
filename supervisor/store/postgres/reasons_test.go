package postgres

import "testing"

// oldRow is a row as it was before reasons were codes, and the code that it gets.
type oldRow struct {
	state, cause string
	code, signal any
	want         string
}

var oldRows = []oldRow{
	{"running", "", nil, nil, ""},
	{"running", "sent away at its item's end by ann", nil, nil, "sent_away"},
	{"done", "", 0, nil, ""},
	{"done", "its log is not whole: 3 bytes of its output could not be written: disk full", 0, nil, "log_incomplete"},
	{"stopping", "killed by ann", nil, nil, "killed"},
	{"killed", "killed by ann", nil, nil, "killed"},
	{"preempted", "blocked by ann", nil, nil, "blocked"},
	{"preempted", "interrupted by ann", nil, nil, "interrupted"},
	{"stopping", "gives way to a primary of job 7", nil, nil, "primary_waits"},
	{"preempted", "gives way to job 7 of better priority", nil, nil, "better_priority"},
	{"preempted", "surplus slots are shared equally: job 7 had fewer", nil, nil, "surplus_shared"},
	{"preempted", "job 7 may run 3 wide now", nil, nil, "width_lowered"},
	{"preempted", "the database was restored, and its host does not know it", nil, nil, "restored"},
	{"preempted", "its host had only 1 GB of memory left of the 2 GB in reserve", nil, nil, "host_memory_low"},
	{"preempted", "", nil, nil, "not_wanted"},
	{"preempted", "the worker was stopped", nil, nil, "worker_stopped"},
	{"failed", "", 3, nil, "exit"},
	{"failed", "its log is not whole: 3 bytes of its output could not be written: disk full", 3, nil, "exit"},
	{"failed", "", nil, 11, "signal"},
	{"failed", "memory: it reached its limit of 3 GB", nil, 9, "memory_limit"},
	{"failed", "memory: the kernel killed it, as its host had no memory left", nil, 9, "out_of_memory"},
	{"failed", "it ran for 60.1 s, its timelimit is 60 s", nil, nil, "time_limit"},
	{"failed", "it ran for 61 s, its time limit is 60 s", nil, nil, "time_limit"},
	{"failed", "cannot start /bin/nothing in /: no such file or directory", nil, nil, "launch_failed"},
	{"lost", "memory: it was not started: it needs 3 GB of memory", nil, nil, "memory_unavailable"},
	{"lost", `its worker, of another release, calls the end "evaporated"`, nil, nil, "unknown_outcome"},
	{"lost", "host rn1 was not heard within its execution lease", nil, nil, "host_silent"},
	{"lost", "host rn1 took no answer within its execution lease", nil, nil, "host_deaf"},
	{"lost", "host rn1 was restarted", nil, nil, "host_restarted"},
	{"lost", "ann confirmed that nothing runs on rn1", nil, nil, "confirmed_dead"},
	{"lost", "this host cannot run it: it does not know the user \"bob\"", nil, nil, "host_refused"},
	{"lost", "its log cannot be written: disk full", nil, nil, "log_unwritable"},
	{"lost", "its shim ended without a record; nothing of its processes is left", nil, nil, "no_record"},
}

// TestReasonsOfOldRows: what was written before reasons were codes gets the code that its wording means, also if the
// migration was interrupted halfway.
func TestReasonsOfOldRows(t *testing.T) {
	url := newDatabase(t)
	for _, interrupted := range []bool{false, true} {
		db, provider := migrating(t, url, 17)
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := db.Exec(sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`DELETE FROM attempt`)
		for n, row := range oldRows {
			exec(`INSERT INTO attempt (job, item, number, again, state, kind, host, boot, state_id, instance, owner, slots, memory, cause, exit_code,
				signal, wall, cpu, peak, started_at, ended_at) VALUES (1, $1, 1, 0, $2, 'primary', 'h', 'b', 's', 1, 'ann', 1, 0, $3, $4, $5, 1, 1, 1, now(),
				CASE WHEN $2::text NOT IN ('running', 'stopping') THEN now() END)`, n, row.state, row.cause, row.code, row.signal)
		}
		exec(`INSERT INTO attempt (job, item, number, again, state, kind, host, boot, state_id, instance, owner, slots, memory, cause,
			signal, wall, cpu, peak, started_at, ended_at) SELECT 2, i, 1, 0, 'failed', 'primary', 'h', repeat('b', 1800), 's', 1, 'ann', 1, 0, '',
			11, 1, 1, 1, now(), now() FROM generate_series(0, $1::integer - 1) AS i`, manyOld)
		if interrupted {
			exec(`ALTER TABLE attempt ADD COLUMN reason text NOT NULL DEFAULT '',
				ADD CONSTRAINT attempt_has_reason CHECK (reason <> '' OR state NOT IN ('failed')) NOT VALID`)
			exec(`UPDATE attempt SET reason = 'signal' WHERE job = 2 AND item % 2 = 0`)
		}
		if _, err := provider.Up(ctx); err != nil {
			t.Fatal(err)
		}
		for n, row := range oldRows {
			var got string
			if err := db.QueryRow(`SELECT reason FROM attempt WHERE job = 1 AND item = $1`, n).Scan(&got); err != nil || got != row.want {
				t.Errorf("interrupted %v: %s, %q: reason %q, %v; want %q", interrupted, row.state, row.cause, got, err, row.want)
			}
		}
		var many int
		if err := db.QueryRow(`SELECT count(*) FROM attempt WHERE job = 2 AND reason = 'signal'`).Scan(&many); err != nil || many != manyOld {
			t.Errorf("interrupted %v: %d rows of %d have their reason, %v", interrupted, many, manyOld, err)
		}
	}
}

// manyOld are rows of more than the 1000 pages that one transaction of the migration changes.
const manyOld = 5000
