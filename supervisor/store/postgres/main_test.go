package postgres

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/storetest"
)

// template is a migrated database without connections; each test copies it.
var template string

var databases atomic.Int64

// patience is how long to wait for what is sure to come, on a machine that has other work too.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withCluster(run func() int) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "qb-store-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	cluster, err := pgcluster.Start(ctx, pgcluster.Config{State: dir, Fast: true})
	if err != nil {
		return 0, err
	}
	defer cluster.Stop(context.Background())
	template = cluster.URL()
	p, err := Open(ctx, template, Options{})
	if err != nil {
		return 0, err
	}
	p.Close()
	return run(), nil
}

// newDatabase is the URL of a migrated, empty database.
func newDatabase(t testing.TB) string {
	t.Helper()
	url, err := createDatabase(context.Background(), template, fmt.Sprintf("test%d", databases.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func openPostgres(t testing.TB, url string) *Store {
	t.Helper()
	p, err := Open(context.Background(), url, Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// shared is the store of the tests that leave their database in order; emptying is faster than copying.
var shared = sync.OnceValues(func() (*Store, error) {
	url, err := createDatabase(context.Background(), template, "shared")
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), url, Options{Name: "test"})
})

// Deleting a few rows is faster than truncating.
const emptyTables = `DELETE FROM item_mark; DELETE FROM item_order; DELETE FROM attempt; DELETE FROM job; DELETE FROM host; DELETE FROM event;
	DELETE FROM token; DELETE FROM payer; DELETE FROM usage_news; DELETE FROM share; DELETE FROM credit; DELETE FROM account; DELETE FROM budget; DELETE FROM publication; DELETE FROM profile; DELETE FROM resource; DELETE FROM breakage; DELETE FROM usage_day; DELETE FROM answer; DELETE FROM mail; DELETE FROM restore; UPDATE removed SET jobs = 0, attempts = 0, last_job = 0`

func emptyPostgres(t testing.TB) *Store {
	t.Helper()
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	exec(t, p, emptyTables)
	return p
}

// emptied is the URL of the shared database, for tests that need a store or a session of their own.
func emptied(t testing.TB) string {
	t.Helper()
	url, err := renamed(template, "qb", emptyPostgres(t).lead.Database)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// records is what both stores can read beside what a term loads.
type records interface {
	Record(ctx context.Context, id facts.JobID, r facts.Recorder) (bool, error)
	Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error)
	store.Mails
}

// both is either store under test.
type both struct {
	store.Store
	records
	depose func() // ends the leader's session from outside
}

// onBoth runs a test on the memory and on the Postgres store.
func onBoth(t *testing.T, test func(*testing.T, both)) {
	t.Run("memory", func(t *testing.T) {
		m := storetest.NewMemory()
		test(t, both{m, m, m.Depose})
	})
	t.Run("postgres", func(t *testing.T) {
		p := emptyPostgres(t)
		test(t, both{p, p, func() { terminateLeader(t, p) }})
	})
}

// onPostgres runs a test on the shared store, emptied.
func onPostgres(t *testing.T, test func(*testing.T, *Store)) { test(t, emptyPostgres(t)) }

func terminateLeader(t testing.TB, p *Store) {
	t.Helper()
	exec(t, p, `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

func exec(t testing.TB, p *Store, sql string, args ...any) {
	t.Helper()
	if _, err := p.pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func lead(t testing.TB, s store.Store) store.Term {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	term, err := s.Lead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Close(context.Background()) })
	return term
}

func commit(t testing.TB, term store.Term, writes ...facts.Write) {
	t.Helper()
	if err := term.Commit(context.Background(), writes); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, term store.Term) facts.Facts {
	t.Helper()
	rows, err := term.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// must unwraps a reader's answer.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// createDatabase makes a database of that name as a copy of the one in url, which must have no connections, and returns
// the copy's URL. Copying a migrated database is faster than migrating a new one.
func createDatabase(ctx context.Context, url, name string) (string, error) {
	cfg, err := parse(url)
	if err != nil {
		return "", err
	}
	template := cfg.Database
	cfg.Database = "postgres"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return "", fmt.Errorf("connecting to the database: %w", err)
	}
	defer conn.Close(ctx)
	sql := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize() + " TEMPLATE " + pgx.Identifier{template}.Sanitize()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return "", fmt.Errorf("making database %s: %w", name, err)
	}
	return renamed(url, template, name)
}

// renamed is url with another database in the place of old.
func renamed(url, old, name string) (string, error) {
	head, query, _ := strings.Cut(url, "?")
	base, found := strings.CutSuffix(head, "/"+old)
	if !found {
		return "", fmt.Errorf("the URL does not end its path with database %s; write it as postgres://…/%s?…", old, old)
	}
	if query != "" {
		query = "?" + query
	}
	return base + "/" + name + query, nil
}
