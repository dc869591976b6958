package serve

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
)

// testServer is the database server that tests share which need none of their own. Its database is migrated, and copied
// for each.
var testServer struct {
	sync.Once
	cluster   *pgcluster.Cluster
	err       error
	databases atomic.Int64
}

func TestMain(m *testing.M) {
	if order := os.Getenv(occupied); order != "" {
		occupy(order)
		return
	}
	dir, err := os.MkdirTemp("", "qb")
	if err != nil {
		panic(err)
	}
	serverFolder = dir
	code := m.Run()
	if testServer.cluster != nil {
		if err := testServer.cluster.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

var serverFolder string

func startServer() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if testServer.cluster, testServer.err = pgcluster.Start(ctx,
		pgcluster.Config{State: serverFolder, Fast: true}); testServer.err != nil {
		return
	}
	var db *postgres.Store
	if db, testServer.err = postgres.Open(ctx, testServer.cluster.URL(), postgres.Options{}); testServer.err == nil {
		db.Close() // Postgres copies a database only while it has no sessions
	}
}

// newStore is a store on an empty database of the test's own.
func newStore(t testing.TB) *postgres.Store {
	t.Helper()
	db, err := postgres.Open(context.Background(), newDatabase(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// newDatabase is the URL of a migrated, empty database.
func newDatabase(t testing.TB) string {
	t.Helper()
	testServer.Do(startServer)
	if testServer.err != nil {
		t.Fatal(testServer.err)
	}
	name := fmt.Sprint("test", testServer.databases.Add(1))
	administer(t, "CREATE DATABASE "+name+" TEMPLATE qb")
	t.Cleanup(func() { administer(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	return strings.Replace(testServer.cluster.URL(), "/qb?", "/"+name+"?", 1)
}

func administer(t testing.TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, strings.Replace(testServer.cluster.URL(), "/qb?", "/postgres?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
