package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
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
}

func (r tokenRow) token() Token {
	return Token{r.ID, r.MAC, r.Owner, r.Role, exact(r.CreatedAt), exact(r.ExpiresAt), exact(orZero(r.LastUsed)), r.Revoked}
}

func normalToken(t Token) Token {
	t.User = clean(t.User)
	t.CreatedAt, t.ExpiresAt, t.LastUsed = exact(t.CreatedAt), exact(t.ExpiresAt), exact(t.LastUsed)
	return t
}

// CreateToken adds a token; its id must be new.
func (p *Postgres) CreateToken(ctx context.Context, t Token) error {
	t = normalToken(t)
	_, err := p.pool.Exec(ctx, sqlCreateToken, t.ID, t.MAC, t.User, t.Role, t.CreatedAt, t.ExpiresAt,
		unless(t.LastUsed, time.Time{}), t.Revoked)
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

// RevokeToken says whether there is such a token; revoking twice does no harm.
func (p *Postgres) RevokeToken(ctx context.Context, id string) (bool, error) {
	tag, err := p.pool.Exec(ctx, sqlRevokeToken, clean(id))
	if err != nil {
		return false, fmt.Errorf("revoking a token: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// TouchToken notes when a token was used last; one that is unknown is nobody's loss.
func (p *Postgres) TouchToken(ctx context.Context, id string, at time.Time) error {
	if _, err := p.pool.Exec(ctx, sqlTouchToken, clean(id), exact(at)); err != nil {
		return fmt.Errorf("noting the use of a token: %w", err)
	}
	return nil
}
