package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"qb/supervisor/store"
)

// The codes of Postgres that this package tells apart.
const (
	codeDiskFull    = "53100"
	codeConnections = "53300"
	codeReadOnly    = "25006"
	codeCharacter   = "22021" // of text in UTF-8: NUL
	codeNoDatabase  = "3D000"
	codeNoSetting   = "42704"
	codeNotAllowed  = "28000" // by pg_hba.conf; a wrong password is 28P01
	codeNoRight     = "42501"
	codeProtocol    = "08P01" // how poolers refuse settings, users and databases; Postgres never says it to a newcomer
	classAuth       = "28"
)

// passing lists the codes of refusals that a retry may overcome: the server starts, stops, recovers, has too many
// connections, or is lost. A pooler that cannot reach the server returns 08000, 08001, 08003 or 08006.
var passing = []string{"08000", "08001", "08003", "08006", "57P01", "57P02", "57P03", codeConnections}

// Named puts one of the errors above over what Postgres says.
func Named(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	var name error
	switch {
	case e.Code == codeDiskFull:
		name = store.ErrFull
	case e.Code == codeReadOnly:
		name = store.ErrReadOnly
	case e.Code == codeCharacter:
		name = store.ErrCharacter
	case e.Code == codeConnections:
		name = store.ErrConnections
	case e.Code == codeNoDatabase, e.Code == codeNoRight, strings.HasPrefix(e.Code, classAuth):
		name = store.ErrRefused
	}
	if name == nil || errors.Is(err, name) {
		return err
	}
	return fmt.Errorf("%w: %w", name, err)
}

// ofRows are classes of codes that tell of what is in the rows: data, constraints, and what does not fit.
var ofRows = []string{"22", "23", "54"}

// namedRows puts store.ErrRows over an error of Postgres that comes of what is in the rows.
func namedRows(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && len(e.Code) == 5 && slices.Contains(ofRows, e.Code[:2]) {
		return fmt.Errorf("%w: %w", store.ErrRows, err)
	}
	return err
}

// Outage says whether an error of Open means only that the database does not answer now: it may do so later, as
// nothing that the configuration says is known to be wrong.
func Outage(err error) bool {
	if errors.Is(err, store.ErrPooler) {
		return false
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return slices.Contains(passing, e.Code)
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return !lookup.IsNotFound
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	for _, cause := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EHOSTUNREACH,
		syscall.ENETUNREACH,
		syscall.EHOSTDOWN, syscall.EAGAIN, fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, cause) {
			return true // a socket that is not there yet among them
		}
	}
	return false
}

// connecting says what is wrong with a connection that was not made, and what to do.
func connecting(cfg *pgx.ConnConfig, err error) error {
	var e *pgconn.PgError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &e) && e.Code == codeNotAllowed && strings.HasPrefix(cfg.Host, "/"):
		return fmt.Errorf(
			"%w: user %q: %w; where it asks over its socket who calls, do this as the system user %q (sudo -u %s …), "+
				"or name another way in in database_url (qb.conf or QB_DATABASE_URL)", store.ErrRefused, cfg.User, err,
			cfg.User, cfg.User)
	case errors.As(err, &e) && strings.HasPrefix(e.Code, classAuth):
		return fmt.Errorf(
			"%w: user %q: %w; mend user and password in database_url (qb.conf or QB_DATABASE_URL), or pg_hba.conf there",
			store.ErrRefused, cfg.User, err)
	case errors.As(err, &e) && e.Code == codeNoDatabase:
		return fmt.Errorf(
			"%w: there is no database %q on the server of database_url; make it (createdb %s) or name another: %w",
			store.ErrRefused, cfg.Database, cfg.Database, err)
	case errors.As(err, &e) && e.Code == codeProtocol:
		return fmt.Errorf(
			"%w at %s, and refuses its sessions: %w; name Postgres itself in database_url, or see Poolers in docs/operations.md",
			store.ErrPooler, place(cfg), err)
	case errors.As(err, &e) && e.Code == codeNoSetting:
		return fmt.Errorf(
			"%w: the server at %s does not know a setting of Postgres 15: %w; upgrade it, or name another in database_url",
			store.ErrRefused, place(cfg), err)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("database_url names the host %q, which is unknown here: %w; mend it in qb.conf or QB_DATABASE_URL",
			lookup.Name, err)
	}
	return fmt.Errorf("connecting to the database that database_url names: %w", Named(err))
}

// roomRows of a quarter of a page make about 8 MiB: enough that a farm that may write again does so for a while.
const roomRows = 4000

// What proves room: a table that is taken back. It is not logged, for a log that finds no room ends the server.
const (
	sqlRoomTable = `CREATE UNLOGGED TABLE qb_room (filler text) WITH (autovacuum_enabled = off)`
	sqlRoomRows  = `INSERT INTO qb_room SELECT repeat('x', 1900) FROM generate_series(1, $1::integer)`
)

// Room writes some MB and takes them back.
func (p *Store) Room(ctx context.Context) error {
	tx, err := p.pool.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return fmt.Errorf("looking for room: %w", Named(err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the end of the session does it too
	if _, err = tx.Exec(ctx, sqlRoomTable); err == nil {
		_, err = tx.Exec(ctx, sqlRoomRows, roomRows)
	}
	if err != nil {
		return fmt.Errorf("looking for room: %w", Named(err))
	}
	return nil
}

// Trouble is why Lead cannot even try.
func (p *Store) Trouble() error {
	if err := p.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
