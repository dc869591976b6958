package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/internal/pause"
	"qb/supervisor/store"
)

// limitedDatabase is an empty database of a user who may have three connections. The superuser of the other tests has
// no limit.
func limitedDatabase(t *testing.T) (url string, admin *Store) {
	t.Helper()
	admin = openPostgres(t, newDatabase(t))
	name := fmt.Sprintf("limited%d", databases.Add(1))
	exec(t, admin, fmt.Sprintf("CREATE ROLE %s LOGIN CONNECTION LIMIT 3", name))
	exec(t, admin, fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0", name, name))
	url, err := renamed(template, "qb", name)
	if err != nil {
		t.Fatal(err)
	}
	// The private Postgres lets in its superuser alone.
	var access string
	if err := admin.pool.QueryRow(ctx, `SHOW hba_file`).Scan(&access); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(access, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(f, "local all %s trust\n", name); err != nil {
		t.Fatal(err)
	}
	f.Close()
	exec(t, admin, `SELECT pg_reload_conf()`)
	return strings.Replace(url, "user=qb", "user="+name, 1), admin
}

// TestReadersGiveWay: constant reads of two supervisors never keep a leader from opening its session: a supervisor that
// cannot open it closes its readers' connections first.
func TestReadersGiveWay(t *testing.T) {
	url, admin := limitedDatabase(t)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	led := make(chan int64, 100)
	for _, p := range []*Store{openPostgres(t, url), openPostgres(t, url)} {
		for range 8 {
			asking.Go(func() {
				for ctx.Err() == nil {
					_, _ = p.Jobs(ctx, store.JobQuery{}) // often refused
					_ = pause.For(ctx, 5*time.Millisecond)
				}
			})
		}
		asking.Go(func() {
			for ctx.Err() == nil {
				term, err := p.Lead(ctx)
				if err != nil {
					return
				}
				led <- term.Epoch()
				for err == nil && ctx.Err() == nil {
					_ = pause.For(ctx, 20*time.Millisecond)
					err = term.Check(ctx)
				}
				term.Close(context.WithoutCancel(ctx))
			}
		})
	}
	for range 5 {
		select {
		case <-led:
		case <-time.After(patience):
			t.Fatal("no leader beside readers that ask without end")
		}
		exec(t, admin, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'limited%'`)
	}
}
