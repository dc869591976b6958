package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// CreateToken adds a token; its id must be new.
func (p *Store) CreateToken(ctx context.Context, t store.Token, audit ...facts.AuditFacts) error {
	t = rules.NormalToken(t)
	err := p.withAudit(ctx, audit, func(tx pgx.Tx) error {
		return addToken(ctx, tx, t)
	})
	if err != nil {
		return fmt.Errorf("adding a token: %w", Named(err))
	}
	return nil
}

func addToken(ctx context.Context, tx pgx.Tx, t store.Token) error {
	_, err := tx.Exec(ctx, sqlCreateToken, t.ID, t.MAC, t.User, t.Role, t.CreatedAt, t.ExpiresAt,
		unless(t.LastUsed, time.Time{}), t.Revoked, t.HostKey, t.Seal, t.UsesLeft, t.Name, t.Pending, t.SessionOf)
	return err
}

// ExchangeToken takes a use from a token, if it still is as before and has one, and adds the token that was made for
// it.
func (p *Store) ExchangeToken(ctx context.Context, before, after, made store.Token,
	audit ...facts.AuditFacts) (bool, error) {
	made = rules.NormalToken(made)
	return p.amend(ctx, "exchanging a token", audit, func(tx pgx.Tx) error { return addToken(ctx, tx, made) },
		sqlSpendToken, rules.Clean(before.ID), before.Seal, after.UsesLeft, after.Seal)
}

var errChanged = errors.New("the row is no longer as it was")

// amend changes a row, does then what belongs to that, and adds the rows that tell of it. It is false, and nothing is
// changed, if the row is not there or no longer as it was.
func (p *Store) amend(ctx context.Context, what string, audit []facts.AuditFacts, then func(pgx.Tx) error, sql string,
	args ...any) (bool, error) {
	err := p.withAudit(ctx, audit, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		if err == nil && tag.RowsAffected() == 0 {
			return errChanged
		}
		if err == nil && then != nil {
			err = then(tx)
		}
		return err
	})
	if err != nil && !errors.Is(err, errChanged) {
		return false, fmt.Errorf("%s: %w", what, Named(err))
	}
	return err == nil, nil
}

// execute runs a statement by itself, and says how many rows it changed.
func (p *Store) execute(ctx context.Context, what, sql string, args ...any) (int64, error) {
	tag, err := p.pool.Exec(ctx, sql, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, Named(err))
	}
	return tag.RowsAffected(), nil
}

// HostTokens lists at most store.MaxPage tokens that are bound to a host's key, the newest first.
func (p *Store) HostTokens(ctx context.Context, hostKey string) ([]store.Token, error) {
	return readRows(ctx, p.pool, "a host's tokens", pgx.RowToStructByPos[store.Token], sqlHostTokens, rules.Clean(hostKey),
		store.MaxPage)
}

// UserTokens lists at most store.MaxPage tokens of a user that are bound to no host, the newest first.
func (p *Store) UserTokens(ctx context.Context, user string) ([]store.Token, error) {
	return readRows(ctx, p.pool, "a user's tokens", pgx.RowToStructByPos[store.Token], sqlUserTokens, rules.Clean(user),
		store.MaxPage)
}

// Token finds a token by its id.
func (p *Store) Token(ctx context.Context, id string) (store.Token, bool, error) {
	return readOne(ctx, p.pool, "a token", pgx.RowToStructByPos[store.Token], sqlToken, rules.Clean(id))
}

// Tokens lists at most store.MaxPage tokens, the oldest first, revoked ones too.
func (p *Store) Tokens(ctx context.Context) ([]store.Token, error) {
	return readRows(ctx, p.pool, "tokens", pgx.RowToStructByPos[store.Token], sqlTokens, store.MaxPage)
}

// RevokeToken takes the seal of a token away. It says whether there is such a token; revoking twice does no harm.
func (p *Store) RevokeToken(ctx context.Context, id string, audit ...facts.AuditFacts) (known bool, err error) {
	return p.amend(ctx, "revoking a token", audit, nil, sqlRevokeToken, rules.Clean(id))
}

// GoodTokens lists tokens that may be used now.
func (p *Store) GoodTokens(ctx context.Context, now time.Time) ([]store.Token, error) {
	return readRows(ctx, p.pool, "the good tokens", pgx.RowToStructByPos[store.Token], sqlGoodTokens, rules.Exact(now),
		maxGoodTokens)
}

// maxGoodTokens bounds what is read; more tokens cannot be good at a time.
const maxGoodTokens = 100_000

// TouchTokens notes when tokens were used last.
func (p *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	ids, at := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for _, id := range slices.Sorted(maps.Keys(used)) {
		ids, at = append(ids, rules.Clean(id)), append(at, rules.Exact(used[id]))
	}
	_, err := p.execute(ctx, "noting the use of tokens", sqlTouchTokens, ids, at)
	return err
}

// DropSpareTokens deletes unused tokens of hosts.
func (p *Store) DropSpareTokens(ctx context.Context, before time.Time) (int, error) {
	n, err := p.execute(ctx, "deleting hosts' spare tokens", sqlDropSpares, rules.Exact(before), rules.KeptTokens)
	return int(n), err
}

// ChangeToken gives a token the end of next and lets it wait as next does, if it still is as before.
func (p *Store) ChangeToken(ctx context.Context, before, next store.Token, audit ...facts.AuditFacts) (bool, error) {
	return p.amend(ctx, "changing a token", audit, nil, sqlChangeToken, rules.Clean(before.ID), before.Seal,
		rules.Exact(next.ExpiresAt), next.Seal, rules.Clean(next.Pending))
}

// People lists the users that were added, by name.
func (p *Store) People(ctx context.Context) ([]store.Person, error) {
	list, err := readRows(ctx, p.pool, "the users", pgx.RowToStructByPos[store.Person], sqlPeople, store.MaxPeople)
	for n := range list {
		list[n] = rules.NormalPerson(list[n])
	}
	return list, err
}

// AddPerson adds a user, whose tokens of before end.
func (p *Store) AddPerson(ctx context.Context, one store.Person, audit ...facts.AuditFacts) (bool, error) {
	one = rules.NormalPerson(one)
	return p.changePerson(ctx, "adding a user", one.Name, true, audit, sqlAddPerson, one.Name, one.Role, words(one.Groups),
		words(one.Leads), words(one.SubmitAs),
		one.Rights, one.Disabled, one.CreatedAt, one.CreatedBy, one.Since, one.Seal, store.MaxPeople)
}

// ChangePerson replaces the row of a user if it still is as before.
func (p *Store) ChangePerson(ctx context.Context, before, next store.Person, audit ...facts.AuditFacts) (bool, error) {
	before, next = rules.NormalPerson(before), rules.NormalPerson(next)
	return p.changePerson(ctx, "changing a user", before.Name, !next.Since.Equal(before.Since), audit, sqlChangePerson,
		before.Name, before.Seal, next.Role,
		words(next.Groups), words(next.Leads), words(next.SubmitAs), next.Rights, next.Disabled, next.CreatedAt,
		next.CreatedBy, next.Since, next.Seal)
}

// RemovePerson removes a user, whose tokens end.
func (p *Store) RemovePerson(ctx context.Context, name string, audit ...facts.AuditFacts) (bool, error) {
	name = rules.Clean(name)
	return p.changePerson(ctx, "removing a user", name, true, audit, sqlRemovePerson, name)
}

func (p *Store) changePerson(ctx context.Context, what, name string, endTokens bool, audit []facts.AuditFacts,
	sql string, args ...any) (bool, error) {
	return p.amend(ctx, what, audit, func(tx pgx.Tx) (err error) {
		if endTokens {
			_, err = tx.Exec(ctx, sqlEndTokens, name)
		}
		return err
	}, sql, args...)
}

// words are never null.
func words(list []string) []string { return append([]string{}, list...) }

// RevokeHostTokens revokes the tokens that are bound to a host's key.
func (p *Store) RevokeHostTokens(ctx context.Context, hostKey string) error {
	_, err := p.execute(ctx, "revoking a host's tokens", sqlRevokeHost, rules.Clean(hostKey))
	return err
}
