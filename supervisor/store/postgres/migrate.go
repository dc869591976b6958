package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Keys of the two advisory locks; "qb" and a number.
const (
	leaderLock    = 0x71620001
	migrationLock = 0x71620002
)

// migrate brings the schema up to date; several supervisors may start at once. A database of a newer qb is refused.
func migrate(ctx context.Context, at *pgx.ConnConfig, files fs.FS, log *slog.Logger) error {
	cfg := at.Copy()
	for name := range relied() {
		delete(cfg.RuntimeParams, name)
	}
	tune(cfg)
	cfg.RuntimeParams["application_name"] = "qb migration"
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	var version int
	if err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return connecting(cfg, err)
	}
	if version < oldestPostgres {
		return fmt.Errorf(
			"the database server is Postgres %d, qb needs 15 or newer; upgrade it, or name another in database_url",
			version/10000)
	}
	provider, err := newProvider(db, files)
	if err != nil {
		return err
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if have > want {
		return fmt.Errorf("the database has schema version %d, this qb knows up to %d; use the newer qb", have, want)
	}
	done, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("bringing the schema up to date: %w", Named(err))
	}
	for _, step := range done {
		log.Info("migrated the schema", "version", step.Source.Version, "file", step.Source.Path,
			"took", step.Duration.Round(time.Millisecond))
	}
	return nil
}

func newProvider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(migrationLocker{}), goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return provider, nil
}

// migrationLocker lets one migrate and the others wait for it, without the library's polling.
type migrationLocker struct{}

// SessionLock waits for the lock.
func (migrationLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock))
	return err
}

// SessionUnlock gives it back.
func (migrationLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, sqlUnlock, int64(migrationLock))
	return err
}
