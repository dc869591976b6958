package postgres

import (
	"database/sql"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"qb/migrations"
	"qb/supervisor/job/facts"
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

// readAll are the queries that may read all attempts: a person's audit, and what a restore or a promotion asks once.
var readAll = regexp.MustCompile(`^sql(Audit.*|OlderRows|GivenUp|LastAttempt|Replaced|Restored)$`)

// No other query reads the attempts of all jobs, however many have ended: it would take longer with each of them, and
// beyond its time limit it would fail for good.
func TestQueriesReadTheAttemptsOfSomeJobs(t *testing.T) {
	conn, err := pgx.Connect(ctx, emptied(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	// A plan for any arguments, of indices if they serve.
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	for name, sql := range queries(t) {
		if readAll.MatchString(name) || !regexp.MustCompile(`\battempt\b`).MatchString(sql) {
			continue
		}
		prepared, err := conn.Prepare(ctx, name, sql)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(prepared.ParamOIDs)), ",")
		var plans []map[string]any
		if err := conn.QueryRow(ctx, `EXPLAIN (FORMAT JSON) EXECUTE "`+name+`" (`+nulls+`)`).Scan(&plans); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if whole := wholeScan(plans[0]["Plan"].(map[string]any)); whole != "" {
			t.Errorf("%s reads all attempts: %s", name, whole)
		}
	}
}

// wholeScan is the scan of a plan that reads table attempt without a condition on its key, "" if there is none.
func wholeScan(plan map[string]any) string {
	kind, _ := plan["Node Type"].(string)
	index, _ := plan["Index Name"].(string)
	_, bounded := plan["Index Cond"]
	switch {
	case kind == "Seq Scan" && plan["Relation Name"] == "attempt", strings.HasPrefix(index, "attempt_") && !bounded:
		return kind + " " + index
	}
	parts, _ := plan["Plans"].([]any)
	for _, part := range parts {
		if whole := wholeScan(part.(map[string]any)); whole != "" {
			return whole
		}
	}
	return ""
}

// migrating opens a database with what migrates it by these files.
func migrating(t *testing.T, url string, files fs.FS) (*sql.DB, *goose.Provider) {
	t.Helper()
	cfg, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { db.Close() })
	provider, err := newProvider(db, files)
	if err != nil {
		t.Fatal(err)
	}
	return db, provider
}

// Down leaves nothing, and Up gives the same schema again, also if several supervisors start at once.
func TestSchemaUpAndDown(t *testing.T) {
	url := newDatabase(t)
	db, provider := migrating(t, url, migrations.Files)
	before := schema(t, db)
	if _, err := provider.DownTo(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := schema(t, db); left != "" {
		t.Errorf("Down left\n%s", left)
	}
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
}

// following are the files of a release after this one, whose migration is up.
func following(t *testing.T, up string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"9001_test.sql": {Data: []byte("-- +goose Up\n" + up +
		"\n-- +goose Down\nALTER TABLE job DROP COLUMN heat;\n")}}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

// The next release migrates a database with rows, and this one refuses it until it is taken back. A migration that
// fails changes nothing.
func TestNextMigration(t *testing.T) {
	url := newDatabase(t)
	p := openPostgres(t, url)
	job := largeJob(1)
	term := lead(t, p)
	commit(t, term, facts.PutJob{Job: job})
	term.Close(ctx)
	cfg, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	add := `ALTER TABLE job ADD COLUMN heat bigint NOT NULL DEFAULT 7;`
	db, provider := migrating(t, url, following(t, add))
	before := schema(t, db)
	quiet := slog.New(slog.DiscardHandler)
	if err := migrate(ctx, cfg, following(t, add+"\nALTER TABLE job ADD COLUMN heat bigint;"), quiet); err == nil {
		t.Error("a migration that fails is not reported")
	}
	if after := schema(t, db); after != before {
		t.Errorf("a migration that failed left\n%s", after)
	}
	if err := migrate(ctx, cfg, following(t, add), quiet); err != nil {
		t.Fatal(err)
	}
	var heat int
	if err := db.QueryRow(`SELECT heat FROM job WHERE id = 1`).Scan(&heat); err != nil || heat != 7 {
		t.Errorf("heat %d, %v", heat, err)
	}
	if _, err := Open(ctx, url, Options{}); err == nil || !strings.Contains(err.Error(), "newer qb") {
		t.Errorf("opened a database of a newer qb: %v", err)
	}
	if _, err := provider.Down(ctx); err != nil {
		t.Fatal(err)
	}
	if after := schema(t, db); after != before {
		t.Errorf("the schema changed from\n%s\nto\n%s", before, after)
	}
	if d := diff(job, recordOf(t, openPostgres(t, url), 1).Job); d != "" {
		t.Errorf("the job changed (-want +got):\n%s", d)
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
	commit(t, lead(t, p), facts.PutJob{Job: sampleJob(1)}, start(1, 0, 1), start(1, 1, 1),
		ended(1, 1, 1, facts.Done, facts.Never))
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
