package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// roomRows of a quarter of a page make about 8 MB: enough that a farm that may write again does so for a while.
const roomRows = 4000

// What proves room: a table that is taken back. It is not logged, for a log that finds no room ends the server.
const (
	sqlRoomTable = `CREATE UNLOGGED TABLE qb_room (filler text) WITH (autovacuum_enabled = off)`
	sqlRoomRows  = `INSERT INTO qb_room SELECT repeat('x', 1900) FROM generate_series(1, $1::integer)`
)

// Room writes some MB and takes them back.
func (p *Postgres) Room(ctx context.Context) error {
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
func (p *Postgres) Trouble() error {
	if err := p.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Fill makes the double's disk full, so that each commit fails with ErrFull, or frees it.
func (m *Memory) Fill(full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = full
}

// Room tells what Fill said.
func (m *Memory) Room(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return ErrFull
	}
	return nil
}

// Trouble never is: memory always answers.
func (m *Memory) Trouble() error { return nil }
