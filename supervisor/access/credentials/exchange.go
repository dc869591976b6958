package credentials

import (
	"context"
	"errors"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

// UsesMost is how often a token may be exchanged at most.
const UsesMost = 10_000

// ErrUsedUp says that a token has been exchanged as often as it was made for.
var ErrUsedUp = errors.New("the token is used up")

// Exchange makes the token that is wanted for one use of the token from, in one transaction. A host that has a valid
// token takes no use: it repeats a call whose answer was lost. A token without counted uses is asked for nothing.
func Exchange(ctx context.Context, key farmkey.Key, r store.Reader, from string,
	want Request) (string, store.Token, error) {
	for range tokenTries {
		before, found, err := r.Token(ctx, from)
		if err != nil {
			return "", store.Token{}, problem.Reading("the token", err)
		}
		if !found || !Holds(key, before, time.Now()) {
			return "", store.Token{}, api.Errorf(api.KindUnauthorized, "token %s is unknown, expired or revoked", from)
		}
		free := before.UsesLeft == nil
		if !free {
			if free, err = hasToken(ctx, key, r, want.HostKey); err != nil {
				return "", store.Token{}, err
			}
		}
		switch {
		case free:
			return Make(ctx, key, r, want)
		case *before.UsesLeft == 0:
			return "", store.Token{}, ErrUsedUp
		}
		text, made, err := draft(key, want)
		if err != nil {
			return "", store.Token{}, err
		}
		after, left := before, *before.UsesLeft-1
		after.UsesLeft = &left
		after.Seal = TokenSeal(key, after)
		done, err := r.ExchangeToken(ctx, before, after, made, want.audits(made, &after)...)
		if err != nil {
			return "", store.Token{}, problem.Reading("exchanging a token", err)
		}
		if done {
			return text, made, nil
		}
	}
	return "", store.Token{},
		api.Errorf(api.KindUnavailable, "token %s is used by others at the same time; try again", from)
}

// hasToken says whether a valid token is bound to the host's key. Rows that qb did not write do not count.
func hasToken(ctx context.Context, key farmkey.Key, r store.Reader, hostKey string) (bool, error) {
	if hostKey == "" {
		return false, nil
	}
	list, err := r.HostTokens(ctx, hostKey)
	if err != nil {
		return false, problem.Reading("a host's tokens", err)
	}
	now := time.Now()
	return slices.ContainsFunc(list, func(t store.Token) bool { return Holds(key, t, now) }), nil
}
