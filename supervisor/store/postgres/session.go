package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"qb/supervisor/store"
)

// planCacheMode: a plan made while a table was empty ruins every statement after it.
const planCacheMode = "force_custom_plan"

// lastingPlans is for statements whose plan is the same for any table; see withPlanModes.
const lastingPlans = "force_generic_plan"

// noJIT: a plan with a sequential scan counts as a very expensive one while enable_seqscan is off, so Postgres would
// compile machine code for it: 0.3 to 2 s for each commit, whose check of the term scans a table of one row.
const noJIT = "off"

// relied are the settings of a leader's session without which a term must not begin: they end the session of a leader
// that falls silent, bound each statement, make a commit durable before it is acknowledged, and hold the planner to
// keys.
func relied() map[string]string {
	return map[string]string{
		"idle_session_timeout":                milliseconds(store.TrustFor),
		"idle_in_transaction_session_timeout": milliseconds(store.TrustFor),
		"statement_timeout":                   milliseconds(commitLimit),
		"lock_timeout":                        milliseconds(lockLimit),
		"synchronous_commit":                  "on",
		"plan_cache_mode":                     planCacheMode,
		"jit":                                 noJIT,
		// Every statement of a commit finds its rows by primary key, one by one; statistics, which lag behind a
		// table that grows by thousands of rows a second, must not talk the planner into anything else.
		"enable_seqscan":   "off",
		"enable_hashjoin":  "off",
		"enable_mergejoin": "off",
		"enable_material":  "off",
	}
}

// connect makes a session that a term can rest on.
func (p *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := p.connectBest(ctx)
	if err != nil {
		return nil, connecting(p.lead, err)
	}
	if err := checkSession(ctx, conn); err != nil {
		p.avoid(conn)
		drop(conn)
		return nil, connecting(p.lead, err)
	}
	readUTC(conn.TypeMap())
	registerColumns(conn.TypeMap())
	return conn, nil
}

// poolerRounds is how often a pooler is tried: beside other clients it may give a session back by chance.
const poolerRounds = 5

// checkSession refuses a connection whose session is not the leader's alone, or lacks a setting that terms rest on.
// Its questions prepare nothing: behind a pooler another client's statement of the same name may be there.
func checkSession(ctx context.Context, conn *pgx.Conn) error {
	cfg := conn.Config()
	if err := checkSettings(ctx, conn); err != nil {
		return err
	}
	pid, err := backend(ctx, conn, "")
	if err != nil {
		return err
	}
	// Postgres sends the backend's pid when a session begins. If the server reports another pid, there is a pooler in
	// between.
	if pid == fmt.Sprint(conn.PgConn().PID()) {
		return nil
	}
	other, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("a second session: %w", err)
	}
	defer drop(other)
	for range poolerRounds {
		// While the other is in a transaction it holds a server session. It must not be that of the first.
		held, err := backend(ctx, other, "begin; ")
		if err != nil {
			return err
		}
		again, err := backend(ctx, conn, "")
		if err != nil {
			return err
		}
		if held == pid || again != pid {
			return fmt.Errorf(
				"%w at %s: it gives the session of one client to another after each transaction (transaction or statement mode), "+
					"and terms rest on sessions; name Postgres itself in database_url, or use session mode as docs/operations.md says it under Poolers",
				store.ErrPooler, place(cfg))
		}
		if _, err := backend(ctx, other, "rollback; "); err != nil {
			return err
		}
	}
	return nil
}

// backend is the process that serves the session, after a statement.
func backend(ctx context.Context, conn *pgx.Conn, first string) (string, error) {
	results, err := conn.PgConn().Exec(ctx, first+"SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return "", fmt.Errorf("asking for the session's process: %w", err)
	}
	return string(results[len(results)-1].Rows[0][0]), nil
}

// checkSettings reads back what the session was to begin with.
func checkSettings(ctx context.Context, conn *pgx.Conn) error {
	cfg := conn.Config()
	names := slices.Sorted(maps.Keys(relied()))
	results, err := conn.PgConn().Exec(ctx,
		`SELECT name, setting FROM pg_settings WHERE name IN ('transaction_read_only', '`+strings.Join(names, "', '")+
			`')`).ReadAll()
	if err != nil {
		return fmt.Errorf("reading the session's settings: %w", err)
	}
	have := settingsOf(results)
	if have["transaction_read_only"] == "on" {
		return store.ErrReadOnly
	}
	var wrong []string
	for _, name := range names {
		if want := cfg.RuntimeParams[name]; have[name] != want {
			wrong = append(wrong, fmt.Sprintf("%s = %s, not %s", name, have[name], want))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w at %s: settings that qb asked for are not in force (%s); name Postgres itself in database_url, "+
		"or give the settings to the database's user as docs/operations.md says it under Poolers", store.ErrPooler,
		place(cfg), strings.Join(wrong, "; "))
}

func settingsOf(results []*pgconn.Result) map[string]string {
	have := map[string]string{}
	for _, row := range results[len(results)-1].Rows {
		have[string(row[0])] = string(row[1])
	}
	return have
}

// place is where a connection goes, without its password.
func place(cfg *pgx.ConnConfig) string { return fmt.Sprintf("%s, port %d", cfg.Host, cfg.Port) }
