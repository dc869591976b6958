package supervisor

import (
	"context"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/problem"
	"qb/supervisor/settings"
	"qb/supervisor/store"
	"qb/supervisor/term"
	"qb/supervisor/translate"
)

// careForTokens looks after tokens while this supervisor leads: files of the service get new ones in time, none lives
// longer than supervisor_token_days, and whoever uses one that ends soon finds that in the log.
func (s *server) careForTokens(ctx context.Context, renew func(context.Context) error) {
	warned := map[string]time.Time{}
	for ctx.Err() == nil {
		if s.loop.Load() == nil {
			term.Sleep(ctx, time.Second)
			continue
		}
		if renew != nil {
			if err := renew(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("cannot renew the service's tokens; will retry", "error", err)
			}
		}
		if err := s.boundTokens(ctx, warned); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot check tokens; will retry", "error", err)
		}
		term.Sleep(ctx, tokenCare) // in which each host that has a token has come
		if ctx.Err() == nil && s.loop.Load() != nil {
			s.dropSpareTokens(ctx)
		}
	}
}

// dropSpareTokens bounds the rows that whoever may enrol hosts can make, together with enrolPace.
func (s *server) dropSpareTokens(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tokenCareFor)
	defer cancel()
	switch dropped, err := s.reader.DropSpareTokens(ctx, time.Now().Add(-tokenCare)); {
	case err != nil:
		s.log.Warn("cannot delete unused host tokens; will retry", "error", err)
	case dropped > 0:
		s.log.Info("unused host tokens deleted", "tokens", dropped)
		s.gate.tokens.Stale()
	}
}

// boundTokens shortens what lives too long and warns of what ends soon.
func (s *server) boundTokens(ctx context.Context, warned map[string]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, tokenCareFor)
	defer cancel()
	now := time.Now()
	tokens, err := s.reader.GoodTokens(ctx, now)
	if err != nil {
		return problem.Reading("the tokens", err)
	}
	days, lines := s.live.now.Load().TokenDays, 0
	for _, t := range tokens {
		if !credentials.Holds(s.gate.key, t, now) {
			if now.Sub(warned[t.ID]) > settings.Day && lines < tokenWarnings {
				warned[t.ID] = now
				lines++
				s.log.Warn("a token's row was changed outside of qb; the token is refused, revoke it", "id", t.ID, "user", t.User, "role", t.Role)
			}
			continue
		}
		until := now.AddDate(0, 0, days)
		if t.ExpiresAt.After(until.Add(settings.Day)) {
			if err := credentials.Shorten(ctx, s.gate.key, s.reader, t.ID, until); err != nil {
				return err
			}
			s.log.Warn("token lifetime shortened to supervisor_token_days", "id", t.ID, "user", t.User, "role", t.Role,
				"until", until.UTC().Format(time.DateOnly), "supervisor_token_days", days)
			s.gate.tokens.Stale()
		}
		inUse := now.Sub(t.LastUsed) < tokenSoon && t.ExpiresAt.Sub(t.CreatedAt) > settings.Day // else it is to join workers, no more
		if inUse && t.ExpiresAt.Before(now.Add(tokenSoon)) && now.Sub(warned[t.ID]) > settings.Day && lines < tokenWarnings {
			warned[t.ID] = now
			lines++
			s.log.Warn("a token in use expires soon; replace it with qbadmin token rotate", "id", t.ID, "user", t.User, "role", t.Role,
				"until", t.ExpiresAt.UTC().Format(time.DateOnly))
		}
	}
	return nil
}

type rotateIn struct {
	Token string `path:"token" maxLength:"64" doc:"The token's id."`
	Body  api.RotateRequest
}

// rotateToken makes a token like another, which goes on for a while, so that whoever has it can change over.
func (s *server) rotateToken(ctx context.Context, in *rotateIn) (*createTokenOut, error) {
	old, found, err := s.reader.Token(ctx, in.Token)
	if err != nil {
		return nil, problem.Reading("the token", err)
	}
	now := time.Now()
	if !found || !credentials.Holds(s.gate.key, old, now) {
		return nil, api.Errorf(api.KindNotFound, "there is no valid token %q; qbadmin token list shows the ids", problem.Clip(in.Token))
	}
	if old.UsesLeft != nil {
		return nil, api.Errorf(api.KindConflict, "token %q is good for being exchanged alone and is not rotated; make another, such as with qbadmin worker token", problem.Clip(in.Token))
	}
	text, t, err := credentials.Make(ctx, s.gate.key, s.reader, credentials.Request{
		User: old.User, Role: api.Role(old.Role), Days: lifeOf(old, s.live.now.Load().TokenDays), HostKey: old.HostKey, Name: old.Name,
		Audit: func(object string, after any) []facts.AuditFacts {
			return audit.Of(ctx).Rows(object, audit.Change{Before: tokenMembers(old), After: after})
		},
	})
	if err != nil {
		return nil, err
	}
	if err := credentials.Shorten(ctx, s.gate.key, s.reader, old.ID, now.Add(time.Duration(in.Body.OverlapSeconds)*time.Second)); err != nil {
		return nil, err
	}
	s.gate.tokens.Stale()
	s.log.Info("token rotated", "id", old.ID, "new", t.ID, "user", t.User, "role", t.Role, "by", principalOf(ctx).User)
	return &createTokenOut{api.TokenReply{Token: pin.Join(text, s.fingerprint()), TokenInfo: translate.Token(t)}}, nil
}

// tokenMembers is what the audit trail tells of a token.
func tokenMembers(t store.Token) map[string]any {
	return map[string]any{"id": t.ID, "user": t.User, "role": t.Role, "expires_at": t.ExpiresAt.UTC(), "revoked": t.Revoked}
}

// lifeOf is how many days a token like this one lives.
func lifeOf(t store.Token, most int) int {
	return min(max(1, int(t.ExpiresAt.Sub(t.CreatedAt).Round(settings.Day)/settings.Day)), most)
}
