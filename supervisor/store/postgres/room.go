package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

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
