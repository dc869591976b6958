package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// tokenRow is a row of token.
type tokenRow struct {
	ID        string     `db:"id"`
	MAC       []byte     `db:"mac"`
	Owner     string     `db:"owner"`
	Role      string     `db:"role"`
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt time.Time  `db:"expires_at"`
	LastUsed  *time.Time `db:"last_used"`
	Revoked   bool       `db:"revoked"`
	HostKey   string     `db:"host_key"`
	Seal      []byte     `db:"seal"`
}

func (r tokenRow) token() Token {
	return Token{r.ID, r.MAC, r.Owner, r.Role, exact(r.CreatedAt), exact(r.ExpiresAt), exact(orZero(r.LastUsed)), r.Revoked, r.HostKey, r.Seal}
}

func normalToken(t Token) Token {
	t.User = clean(t.User)
	t.CreatedAt, t.ExpiresAt, t.LastUsed = exact(t.CreatedAt), exact(t.ExpiresAt), exact(t.LastUsed)
	return t
}

// CreateToken adds a token; its id must be new.
func (p *Postgres) CreateToken(ctx context.Context, t Token, audit ...facts.AuditFacts) error {
	t = normalToken(t)
	err := p.withAudit(ctx, audit, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlCreateToken, t.ID, t.MAC, t.User, t.Role, t.CreatedAt, t.ExpiresAt, unless(t.LastUsed, time.Time{}), t.Revoked, t.HostKey, t.Seal)
		return err
	})
	if err != nil {
		return fmt.Errorf("adding a token: %w", Named(err))
	}
	return nil
}

// Token finds a token by its id.
func (p *Postgres) Token(ctx context.Context, id string) (Token, bool, error) {
	rows, err := p.pool.Query(ctx, sqlToken, clean(id))
	if err != nil {
		return Token{}, false, fmt.Errorf("reading a token: %w", err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[tokenRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, fmt.Errorf("reading a token: %w", err)
	}
	return row.token(), true, nil
}

// Tokens lists at most MaxPage tokens, the oldest first, revoked ones too.
func (p *Postgres) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := queryAll[tokenRow](ctx, p.pool, sqlTokens, MaxPage)
	if err != nil {
		return nil, fmt.Errorf("listing tokens: %w", err)
	}
	list := make([]Token, len(rows))
	for i, r := range rows {
		list[i] = r.token()
	}
	return list, nil
}

// RevokeToken takes the seal of a token away. It says whether there is such a token; revoking twice does no harm.
func (p *Postgres) RevokeToken(ctx context.Context, id string, audit ...facts.AuditFacts) (known bool, err error) {
	err = p.withAudit(ctx, audit, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlRevokeToken, clean(id))
		known = tag.RowsAffected() > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoking a token: %w", err)
	}
	return known, nil
}

// GoodTokens lists tokens that may be used now.
func (p *Postgres) GoodTokens(ctx context.Context, now time.Time) ([]Token, error) {
	rows, err := queryAll[tokenRow](ctx, p.pool, sqlGoodTokens, exact(now), maxGoodTokens)
	if err != nil {
		return nil, fmt.Errorf("reading the good tokens: %w", err)
	}
	list := make([]Token, len(rows))
	for i, r := range rows {
		list[i] = r.token()
	}
	return list, nil
}

// maxGoodTokens bounds what is read; more tokens cannot be good at a time.
const maxGoodTokens = 100_000

// TouchTokens notes when tokens were used last.
func (p *Postgres) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	ids, at := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for _, id := range slices.Sorted(maps.Keys(used)) {
		ids, at = append(ids, clean(id)), append(at, exact(used[id]))
	}
	if _, err := p.pool.Exec(ctx, sqlTouchTokens, ids, at); err != nil {
		return fmt.Errorf("noting the use of tokens: %w", err)
	}
	return nil
}

// keptTokens are a host's that stay: it renews them one after the other, and each copy of its state folder its own.
const keptTokens = 8

// DropSpareTokens deletes hosts' tokens that nobody needs.
func (p *Postgres) DropSpareTokens(ctx context.Context, before time.Time) (int, error) {
	tag, err := p.pool.Exec(ctx, sqlDropSpares, exact(before), keptTokens)
	if err != nil {
		return 0, fmt.Errorf("deleting hosts' spare tokens: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// ShortenToken gives a token the end and the seal of next, if it still is as before.
func (p *Postgres) ShortenToken(ctx context.Context, before, next Token) (bool, error) {
	tag, err := p.pool.Exec(ctx, sqlShortenToken, clean(before.ID), before.Seal, exact(next.ExpiresAt), next.Seal)
	if err != nil {
		return false, fmt.Errorf("shortening a token's life: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}
