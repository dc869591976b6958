package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/migrations"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// deposeLimit is how long a leader may take to give a database back that a restore replaces.
const deposeLimit = 30 * time.Second

// Server is the one of those in database_url that has the farm's rows. All steps of a backup or restore go to the same.
type Server struct {
	Major int // version
	cfg   *pgx.ConnConfig
	url   string
}

// FindServer chooses the server as a leader does.
func FindServer(ctx context.Context, databaseURL string) (s Server, err error) {
	p, err := beside(databaseURL)
	if err != nil {
		return s, err
	}
	conn, err := p.reach(ctx, "qb restore")
	if err != nil {
		return s, connecting(p.lead, err)
	}
	defer drop(conn)
	var version int
	if err := conn.QueryRow(ctx, sqlServerVersion).Scan(&version); err != nil {
		return s, fmt.Errorf("asking the database for its version: %w", err)
	}
	return Server{Major: version / 10000, cfg: conn.Config(), url: databaseURL}, nil
}

// ClientEnv is the environment by which Postgres's own programs reach the server. No part of it is in their arguments,
// which every user of the machine can read.
func (s Server) ClientEnv() []string {
	cfg := s.cfg
	env := []string{"PGHOST=" + cfg.Host, fmt.Sprintf("PGPORT=%d", cfg.Port), "PGUSER=" + cfg.User,
		"PGDATABASE=" + cfg.Database}
	if cfg.Password != "" {
		env = append(env, "PGPASSWORD="+cfg.Password)
	}
	if u, err := url.Parse(s.url); err == nil {
		for key, name := range map[string]string{
			"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
			"channel_binding": "PGCHANNELBINDING",
		} {
			if value := u.Query().Get(key); value != "" {
				env = append(env, name+"="+value)
			}
		}
	}
	return env
}

// RestoreOptions say how a database is replaced.
type RestoreOptions struct {
	Farm   []byte // public key of the farm
	NewKey bool   // the farm has a new key: a dump made under another one is taken over
	Force  bool   // even if a supervisor leads
}

// Restore replaces the rows of a database by those in a dump. While it is open no supervisor leads.
type Restore struct {
	opts     RestoreOptions
	conn     *pgx.Conn // holds the leader's lock
	identity string
	epoch    int64  // of the rows that go
	lineage  string // of the database, to be kept; empty: the dump's
	before   string // with a new lineage: the lineage that hosts obeyed before
	lastJob  facts.JobID
	last     int // attempt
}

// PrepareRestore looks at the rows that are to go, and keeps leaders away from them.
func PrepareRestore(ctx context.Context, server Server, opts RestoreOptions) (*Restore, error) {
	conn, err := pgx.ConnectConfig(ctx, server.cfg)
	if err != nil {
		return nil, connecting(server.cfg, err)
	}
	r := &Restore{opts: opts, conn: conn}
	if err := r.look(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openRestore connects to the first address that accepts it, even if that is the older server.
func openRestore(ctx context.Context, databaseURL string) (*pgx.Conn, error) {
	cfg, err := parse(databaseURL)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "qb restore"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, connecting(cfg, err)
	}
	return conn, nil
}

func (r *Restore) look(ctx context.Context) (err error) {
	if r.identity, err = identity(ctx, r.conn); err != nil {
		return err
	}
	var ours, any bool
	if err := r.conn.QueryRow(ctx, sqlHasTables).Scan(&ours, &any); err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if any && !ours {
		return errors.New("the database holds tables that are not qb's: name one of qb's, or an empty one, as database_url")
	}
	if !ours {
		return nil
	}
	var silent float64
	var supersededBy string
	if err := r.conn.QueryRow(ctx, sqlReplaced).
		Scan(&r.epoch, &silent, &r.lineage, &supersededBy, &r.lastJob, &r.last); err != nil {
		return fmt.Errorf("looking at the rows that are to be replaced: %w", err)
	}
	if silent < store.TrustFor.Seconds() && r.epoch > 0 && !r.opts.Force {
		return errors.New(
			"a supervisor leads with this database: stop it (a qb farm or qb supervisor that has just ended counts for some seconds), or replace its rows under it with -force")
	}
	if supersededBy != "" { // hosts never come back to a lineage that they left
		r.before, r.lineage = supersededBy, rules.NewLineage()
	}
	return r.depose(ctx)
}

// depose ends the term of a leader, and takes its lock.
func (r *Restore) depose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deposeLimit)
	defer cancel()
	if _, err := r.conn.Exec(ctx, sqlDepose); err != nil {
		return fmt.Errorf("ending the leader's term: %w", Named(err))
	}
	r.epoch++
	if _, err := r.conn.Exec(ctx, sqlWaitLock, int64(leaderLock)); err != nil {
		return fmt.Errorf("waiting for the leader to give its lock back: %w", err)
	}
	return nil
}

// Prologue is the SQL before the dump's own, in one transaction with it.
func (r *Restore) Prologue() string {
	return `\set ON_ERROR_STOP on
BEGIN;
SET LOCAL lock_timeout = '30s';
SET LOCAL client_min_messages = warning;
DO $qb$
DECLARE one record;
BEGIN
	FOR one IN SELECT c.oid::regclass AS name, c.relkind AS kind FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.relkind = 'v' DESC LOOP
		EXECUTE format('DROP %s IF EXISTS %s CASCADE', CASE one.kind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, one.name);
	END LOOP;
	FOR one IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace LOOP
		EXECUTE format('DROP ROUTINE IF EXISTS %s CASCADE', one.name);
	END LOOP;
END $qb$;
`
}

// Epilogue is the SQL after the dump's own: it records the restore in the same transaction.
func (r *Restore) Epilogue() string {
	return fmt.Sprintf(`
DO $qb$
BEGIN
	UPDATE public.supervisor SET epoch = greatest(epoch, %d) + 1, checked_at = checked_at - interval '1 day';
	%s
END $qb$;
COMMIT;
`, r.epoch, r.note())
}

// note records the restore. What is put between quotes is made here, of letters, digits and a few signs.
func (r *Restore) note() string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	orNull := func(text string) string {
		if text == "" {
			return "NULL"
		}
		return quoted(text)
	}
	key, check := quoted(`\x`+hex.EncodeToString(r.opts.Farm))+"::bytea", ""
	if !r.opts.NewKey {
		check = fmt.Sprintf(`IF EXISTS (SELECT FROM public.supervisor WHERE farm_key <> %s) THEN
			RAISE EXCEPTION 'the backup is of a farm with another key: copy that key file to supervisor_key_file, or give the farm a new key with -newkey';
		END IF;
		`, key)
	}
	identity := "identity"
	if r.lineage != "" {
		identity = quoted(r.identity)
	}
	return fmt.Sprintf(
		`%sUPDATE public.supervisor SET farm_key = %s, lineage = coalesce(%s, lineage), identity = %s, superseded_by = NULL;
		INSERT INTO public.restore (at, reason, epoch, lineage, predecessor, job_floor, attempt_floor)
			SELECT clock_timestamp(), 'command', epoch, coalesce(lineage, 'unknown'), %s, %d, %d FROM public.supervisor;
		INSERT INTO public.event (epoch, at, type, host, by, cause)
			SELECT epoch, clock_timestamp(), 'restored', '', '', 'the database was restored from a backup' FROM public.supervisor;`,
		check, key, orNull(r.lineage), identity, orNull(r.before), r.lastJob, r.last)
}

// Restored is what a restore has brought.
type Restored struct{ Epoch, Jobs, Attempts int64 }

// Finish brings the schema of the dump up to date, and counts what was restored.
func (r *Restore) Finish(ctx context.Context) (done Restored, err error) {
	if err := migrate(ctx, r.conn.Config(), migrations.Files, slog.New(slog.DiscardHandler)); err != nil {
		return done, err
	}
	if err := r.conn.QueryRow(ctx, sqlRestored).Scan(&done.Epoch, &done.Jobs, &done.Attempts); err != nil {
		return done, fmt.Errorf("counting what was restored: %w", err)
	}
	return done, nil
}

// Close lets supervisors lead again.
func (r *Restore) Close() { drop(r.conn) }
