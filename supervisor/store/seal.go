package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"
)

// sealedTokens is the version of the schema in which rows of table token hold no hash of the secret any more.
const sealedTokens = 14

// sealTokens is the migration to it. The key lies outside of the database, so it is none of the files of SQL.
func sealTokens(seal func(Token) []byte) *goose.Migration {
	up := func(ctx context.Context, tx *sql.Tx) error {
		tokens, err := unsealed(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range tokens {
			if seal == nil {
				_, err = tx.ExecContext(ctx, `UPDATE token SET revoked = true WHERE id = $1`, t.ID)
			} else {
				_, err = tx.ExecContext(ctx, `UPDATE token SET hash = $2 WHERE id = $1`, t.ID, seal(t))
			}
			if err != nil {
				return fmt.Errorf("sealing token %s: %w", t.ID, err)
			}
		}
		_, err = tx.ExecContext(ctx, `ALTER TABLE token RENAME COLUMN hash TO mac`)
		return err
	}
	down := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `ALTER TABLE token RENAME COLUMN mac TO hash`)
		return err
	}
	return goose.NewGoMigration(sealedTokens, &goose.GoFunc{RunTx: up}, &goose.GoFunc{RunTx: down})
}

// unsealed reads the tokens of an earlier qb, with the hash of the secret in place of the MAC.
func unsealed(ctx context.Context, tx *sql.Tx) (list []Token, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, hash, owner, role, created_at FROM token ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t Token
		if err := rows.Scan(&t.ID, &t.MAC, &t.User, &t.Role, &t.CreatedAt); err != nil {
			return nil, fmt.Errorf("reading the tokens: %w", err)
		}
		t.CreatedAt = exact(t.CreatedAt)
		list = append(list, t)
	}
	return list, rows.Err()
}
