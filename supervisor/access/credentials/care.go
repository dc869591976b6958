package credentials

import (
	"context"
	"log/slog"
	"time"

	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

const (
	CareEvery = time.Hour         // in which each host that has a token has come
	soon      = 14 * settings.Day // before its end a token in use is warned of
	careFor   = 10 * time.Second  // one deletion
	warnings  = 20                // lines at a time
)

// Care looks after the tokens of a farm.
type Care struct {
	Key    farmkey.Key
	Reader store.Reader
	Table  *Table
	Log    *slog.Logger
	Days   func() int // supervisor_token_days

	warned map[string]time.Time
}

// DropSpare deletes unused host tokens. Together with the rate limit of enrolment this bounds the rows that a user with
// the right to enrol hosts can make.
func (c *Care) DropSpare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, careFor)
	defer cancel()
	switch dropped, err := c.Reader.DropSpareTokens(ctx, time.Now().Add(-CareEvery)); {
	case err != nil:
		c.Log.Warn("cannot delete unused host tokens; will retry", "error", err)
	case dropped > 0:
		c.Log.Info("unused host tokens deleted", "tokens", dropped)
		c.Table.Stale()
	}
}

// Bound shortens what lives too long and warns of what ends soon.
func (c *Care) Bound(ctx context.Context) error {
	if c.warned == nil {
		c.warned = map[string]time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, careFor)
	defer cancel()
	now := time.Now()
	tokens, err := c.Reader.GoodTokens(ctx, now)
	if err != nil {
		return problem.Reading("the tokens", err)
	}
	days, lines := c.Days(), 0
	for _, t := range tokens {
		if !Holds(c.Key, t, now) {
			if now.Sub(c.warned[t.ID]) > settings.Day && lines < warnings {
				c.warned[t.ID] = now
				lines++
				c.Log.Warn("a token's row was changed outside of qb; the token is refused, revoke it", "id", t.ID, "user", t.User,
					"role", t.Role)
			}
			continue
		}
		until := now.AddDate(0, 0, days)
		if t.ExpiresAt.After(until.Add(settings.Day)) {
			if err := Shorten(ctx, c.Key, c.Reader, t.ID, until); err != nil {
				return err
			}
			c.Log.Warn("token lifetime shortened to supervisor_token_days", "id", t.ID, "user", t.User, "role", t.Role,
				"until", until.UTC().Format(time.DateOnly), "supervisor_token_days", days)
			c.Table.Stale()
		}
		// else it is to join workers, no more
		inUse := now.Sub(t.LastUsed) < soon && t.ExpiresAt.Sub(t.CreatedAt) > settings.Day
		if inUse && t.ExpiresAt.Before(now.Add(soon)) && now.Sub(c.warned[t.ID]) > settings.Day && lines < warnings {
			c.warned[t.ID] = now
			lines++
			c.Log.Warn("a token in use expires soon; replace it with qbadmin token rotate", "id", t.ID, "user", t.User,
				"role", t.Role,
				"until", t.ExpiresAt.UTC().Format(time.DateOnly))
		}
	}
	return nil
}
