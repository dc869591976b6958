package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// Versions of the schema from which rows of table token hold no hash of the secret any more, and a seal.
const (
	sealedSecrets = 14
	sealedRows    = 17
)

// Seals make what rows of table token lack that an earlier qb wrote. With nil such tokens are revoked when they are met.
type Seals struct {
	Secret func(store.Token) []byte // field MAC, which holds the hash of the secret
	Row    func(store.Token) []byte // field Seal, which is empty
}

// sealing is a migration that needs the farm's key. That lies outside of the database, so it is none of the files of SQL.
type sealing struct {
	before, put, after, down string // statements; put has the parameters id and what seal returns
	mac                      string // name of the column
	seal                     func(store.Token) []byte
}

func (s Seals) migrations() []*goose.Migration {
	return []*goose.Migration{
		sealing{
			put: `UPDATE token SET hash = $2 WHERE id = $1`, after: `ALTER TABLE token RENAME COLUMN hash TO mac`,
			down: `ALTER TABLE token RENAME COLUMN mac TO hash`, mac: "hash", seal: s.Secret,
		}.migration(sealedSecrets),
		sealing{
			before: `ALTER TABLE token ADD COLUMN seal bytea NOT NULL DEFAULT ''`, put: `UPDATE token SET seal = $2 WHERE id = $1`,
			after: `ALTER TABLE token ALTER COLUMN seal DROP DEFAULT`, down: `ALTER TABLE token DROP COLUMN seal`, mac: "mac", seal: s.Row,
		}.migration(sealedRows),
	}
}

func (s sealing) migration(version int64) *goose.Migration {
	down := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.down)
		return err
	}
	return goose.NewGoMigration(version, &goose.GoFunc{RunTx: s.up}, &goose.GoFunc{RunTx: down})
}

func (s sealing) up(ctx context.Context, tx *sql.Tx) error {
	if s.before != "" {
		if _, err := tx.ExecContext(ctx, s.before); err != nil {
			return err
		}
	}
	tokens, err := s.unsealed(ctx, tx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if s.seal == nil {
			_, err = tx.ExecContext(ctx, `UPDATE token SET revoked = true WHERE id = $1`, t.ID)
		} else {
			_, err = tx.ExecContext(ctx, s.put, t.ID, s.seal(t))
		}
		if err != nil {
			return fmt.Errorf("sealing token %s: %w", t.ID, err)
		}
	}
	_, err = tx.ExecContext(ctx, s.after)
	return err
}

// unsealed reads the tokens of an earlier qb that are not revoked.
func (s sealing) unsealed(ctx context.Context, tx *sql.Tx) (list []store.Token, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, `+s.mac+`, owner, role, created_at, expires_at, host_key FROM token WHERE NOT revoked ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t store.Token
		if err := rows.Scan(&t.ID, &t.MAC, &t.User, &t.Role, &t.CreatedAt, &t.ExpiresAt, &t.HostKey); err != nil {
			return nil, fmt.Errorf("reading the tokens: %w", err)
		}
		t.CreatedAt, t.ExpiresAt = rules.Exact(t.CreatedAt), rules.Exact(t.ExpiresAt)
		list = append(list, t)
	}
	return list, rows.Err()
}
