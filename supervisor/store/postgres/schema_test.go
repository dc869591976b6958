package postgres

import (
	"database/sql"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"qb/supervisor/facts"
)

// jobQueries are the variables of jobsql.go.
var jobQueries = map[string]string{
	"sqlInsertJobs": sqlInsertJobs, "sqlUpdateJobs": sqlUpdateJobs, "sqlLoadJobs": sqlLoadJobs, "sqlJob": sqlJob,
}

// queries are the constants named sql… of all files *.sql.go, as the compiler sees them, and the jobQueries.
func queries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.sql.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no SQL files: %v", err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range files {
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	pkg, err := (&types.Config{}).Check("store", set, parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := maps.Clone(jobQueries)
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && strings.HasPrefix(name, "sql") {
			found[name] = constant.StringVal(c.Val())
		}
	}
	return found
}

// No query of jobsql.go is left out of jobQueries.
func TestJobQueries(t *testing.T) {
	code, err := os.ReadFile("jobsql.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\t(sql\w+) += `).FindAllStringSubmatch(string(code), -1)
	if len(found) != len(jobQueries) {
		t.Errorf("jobsql.go has %d queries, jobQueries %d", len(found), len(jobQueries))
	}
	for _, name := range found {
		if jobQueries[name[1]] == "" {
			t.Errorf("jobQueries lacks %s", name[1])
		}
	}
}

// Every query fits the schema, and none says "*".
func TestQueriesFitTheSchema(t *testing.T) {
	conn, err := pgx.Connect(ctx, emptied(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	all := queries(t)
	if len(all) < 25 {
		t.Errorf("found only %d queries", len(all))
	}
	for name, sql := range all {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(strings.ToLower(sql), "select *") {
			t.Errorf("%s selects *; list the columns", name)
		}
	}
}

// migrating opens a database with what migrates it, and takes its schema down to a version.
func migrating(t *testing.T, url string, version int64) (*sql.DB, *goose.Provider) {
	t.Helper()
	cfg, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { db.Close() })
	provider, err := newProvider(db, Seals{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(ctx, version); err != nil {
		t.Fatal(err)
	}
	return db, provider
}

// Up, down and up again ends in the same schema; a newer schema is refused.
func TestMigrations(t *testing.T) {
	url := newDatabase(t)
	cfg, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	provider, err := newProvider(db, Seals{})
	if err != nil {
		t.Fatal(err)
	}
	before := schema(t, db)
	if _, err := provider.DownTo(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := schema(t, db); left != "" {
		t.Errorf("Down left\n%s", left)
	}
	// Several supervisors start at once.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			p, err := Open(ctx, url, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			p.Close()
		})
	}
	all.Wait()
	if after := schema(t, db); after != before {
		t.Errorf("the schema changed from\n%s\nto\n%s", before, after)
	}
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, url, Options{}); err == nil || !strings.Contains(err.Error(), "newer qb") {
		t.Errorf("opened a database of a newer qb: %v", err)
	}
}

// A farm that worked under a qb without listed accounts goes on with open ones; another has listed ones.
func TestAccountsOfAnUpgradedFarm(t *testing.T) {
	for _, charged := range []bool{false, true} {
		db, provider := migrating(t, newDatabase(t), 25)
		if charged {
			if _, err := db.Exec(`INSERT INTO payer (id, account, owner, cpu, ram, gpu, scratch, at) VALUES (1, 'show', 'ann', 1, 1, 1, 1, now())`); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := provider.Up(ctx); err != nil {
			t.Fatal(err)
		}
		var open bool
		if err := db.QueryRow(sqlOpenAccounts).Scan(&open); err != nil || open != charged {
			t.Errorf("charged before: %v, open: %v, %v", charged, open, err)
		}
	}
}

// What earlier releases wrote in another form is rewritten: answers with a whole job, and a key that several hosts had.
func TestOldRowsHaveOneForm(t *testing.T) {
	url := newDatabase(t)
	db, _ := migrating(t, url, 74)
	bodies := map[string]string{
		`{"Body":{"job":{"id":7,"name":"x","version":2},"remarks":["\u00fc"]}}`: `{"ETag" : null, "Body" : {"job" : 7, "version" : 2, "remarks" : ["\u00fc"]}}`,
		`{"ETag":"\"3\"","Body":{"job":{"id":7,"version":3},"remarks":[]}}`:     `{"ETag" : "\"3\"", "Body" : {"job" : 7, "version" : 3, "remarks" : []}}`,
		`{"Location":"","Body":{"job":7,"version":3,"remarks":[]}}`:             `{"Location":"","Body":{"job":7,"version":3,"remarks":[]}}`,
	}
	for body := range bodies {
		if _, err := db.Exec(`INSERT INTO answer (owner, key, hash, body, at, place) SELECT 'ann', $1, sha256(''), $1, now(), count(*) FROM answer`, body); err != nil {
			t.Fatal(err)
		}
	}
	for n, key := range []string{"k", "k", "k", "", ""} {
		if _, err := db.Exec(`INSERT INTO host (id, machine_id, boot, state_id, slots, memory, cluster, groups, properties, resources, locked_by, lock_reason, seen_at, key)
			VALUES ($1, '', '', '', 1, 1, '/', '{}', '{}', '{}', '', '', $2, $3)`, "h"+strconv.Itoa(n), at(float64(n%2)), key); err != nil {
			t.Fatal(err)
		}
	}
	p := openPostgres(t, url)
	for body, want := range bodies {
		if got, _, err := p.Answer(ctx, "ann", body); err != nil || got.Body != want {
			t.Errorf("%s: %s, %v", body, got.Body, err)
		}
	}
	var keyed string
	if err := db.QueryRow(`SELECT string_agg(id, ',') FROM host WHERE key <> ''`).Scan(&keyed); err != nil || keyed != "h1" {
		t.Errorf("hosts %s have the key, %v", keyed, err)
	}
}

// schema is all columns, indexes and constraints of ours, as text.
func schema(t *testing.T, db *sql.DB) (text string) {
	t.Helper()
	err := db.QueryRow(`SELECT coalesce(string_agg(line, E'\n' ORDER BY line), '') FROM (
		SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable AS line FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'
		UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE 'goose%') AS s`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRenamed(t *testing.T) {
	for _, tc := range []struct{ url, old, want string }{
		{"postgres:///qb?host=/run", "qb", "postgres:///t?host=/run"},
		{"postgres://u:p@h:5432/qb", "qb", "postgres://u:p@h:5432/t"},
		{"host=/run dbname=qb", "qb", ""},
	} {
		got, err := renamed(tc.url, tc.old, "t")
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("renamed(%q) = %q, %v", tc.url, got, err)
		}
	}
}

// The schema itself refuses what the store would never write.
func TestSchemaForbidsDoubleCounting(t *testing.T) {
	p := emptyPostgres(t)
	commit(t, lead(t, p), facts.PutJob{Job: sampleJob(1)}, start(1, 0, 1), start(1, 1, 1), ended(1, 1, 1, facts.Done, facts.Never))
	for what, sql := range map[string]string{
		"a second live attempt":   addAttempt(0, "running"),
		"a second done attempt":   addAttempt(1, "done"),
		"an end without a time":   `UPDATE attempt SET state = 'failed'`,
		"an end without a reason": `UPDATE attempt SET state = 'lost', ended_at = now() WHERE state = 'running'`,
		"words without a reason":  `UPDATE attempt SET cause = 'x'`,
		"a time without an end":   `UPDATE attempt SET ended_at = now() WHERE state = 'running'`,
		"live and done":           addAttempt(1, "running"),
		"a second supervisor row": `INSERT INTO supervisor (one, epoch, leader, since, checked_at) VALUES (false, 1, '', now(), now())`,
		"a backward mark":         `INSERT INTO item_mark (job, first, last, kind, by, at) VALUES (1, 5, 4, 'killed', '', now())`,
	} {
		if _, err := p.pool.Exec(ctx, sql); err == nil {
			t.Errorf("the schema allows %s", what)
		}
	}
}

func addAttempt(item int, state string) string {
	sql := `INSERT INTO attempt (job, item, number, host, boot, state_id, instance, kind, owner, slots, memory, state,
		again, cause, wall, cpu, peak, started_at, ended_at) SELECT job, item, 9, host, boot, state_id, instance, kind,
		owner, slots, memory, '` + state + `', 0, cause, wall, cpu, peak, started_at, `
	ended := "started_at"
	if state == "running" {
		ended = "NULL"
	}
	return sql + ended + ` FROM attempt WHERE item = ` + strconv.Itoa(item)
}
