package postgres

import (
	"context"
	"testing"
	"time"
)

// TestAttackLeaving: a caller who leaves ends its statement in Postgres, and the connection stays for the next.
func TestAttackLeaving(t *testing.T) {
	p := openPostgres(t, newDatabase(t))
	var before, after int
	if err := p.pool.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&before); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		leaving, cancel := context.WithCancel(ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := p.pool.Exec(leaving, `SELECT pg_sleep(20)`); err == nil {
			t.Error("the statement went on")
		}
		var running int
		if err := p.pool.QueryRow(ctx,
			`SELECT pg_backend_pid(), (SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active')`).
			Scan(&after, &running); err != nil {
			t.Fatal(err)
		}
		if running != 0 || after != before {
			t.Errorf("%d statements go on, and process %d is in the place of %d", running, after, before)
		}
	}
}
