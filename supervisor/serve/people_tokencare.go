package serve

import (
	"context"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/internal/pause"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

// careForTokens maintains tokens while this supervisor leads: it renews the service's token files in time, limits each
// token's life to supervisor_token_days, and logs the use of tokens that end soon.
func (s *peopleService) careForTokens(ctx context.Context, renew func(context.Context) error) {
	care := credentials.Care{Key: s.gate.Key, Reader: s.reader, Table: s.gate.Tokens, Log: s.log, Days: func() int {
		return s.live.now.Load().TokenDays
	}}
	for ctx.Err() == nil {
		if s.loop.Load() == nil {
			_ = pause.For(ctx, time.Second)
			continue
		}
		if renew != nil {
			if err := renew(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("cannot renew the service's tokens; will retry", "error", err)
			}
		}
		if err := care.Bound(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot check tokens; will retry", "error", err)
		}
		_ = pause.For(ctx, credentials.CareEvery) // in which each host that has a token has come
		if ctx.Err() == nil && s.loop.Load() != nil {
			care.DropSpare(ctx)
		}
	}
}

type rotateIn struct {
	Token string `path:"token" maxLength:"64" doc:"The token's id."`
	Body  api.RotateRequest
}

// rotateToken makes a token with the same rights as another, which remains valid for a while, so that clients can
// change to the new one.
func (s *peopleService) rotateToken(ctx context.Context, in *rotateIn) (*jsonOf[api.TokenReply], error) {
	old, found, err := s.reader.Token(ctx, in.Token)
	if err != nil {
		return nil, problem.Reading("the token", err)
	}
	now := time.Now()
	if !found || !credentials.Holds(s.gate.Key, old, now) {
		return nil, api.Errorf(api.KindNotFound, "there is no valid token %q; qbadmin token list shows the ids",
			problem.Clip(in.Token))
	}
	if old.UsesLeft != nil {
		return nil, api.Errorf(api.KindConflict,
			"token %q is good for being exchanged alone and is not rotated; make another, such as with qbadmin worker token",
			problem.Clip(in.Token))
	}
	if err := s.mayMake(ctx, old.User, api.Role(old.Role)); err != nil {
		return nil, err
	}
	text, t, err := credentials.Make(ctx, s.gate.Key, s.reader, credentials.Request{
		User: old.User, Role: api.Role(old.Role), Days: lifeOf(old, s.live.now.Load().TokenDays), HostKey: old.HostKey,
		Name: old.Name,
		Audit: func(object string, after any) []facts.AuditFacts {
			return audit.Of(ctx).Rows(object, audit.Change{Before: tokenMembers(old), After: after})
		},
	})
	if err != nil {
		return nil, err
	}
	if err := credentials.Shorten(ctx, s.gate.Key, s.reader, old.ID,
		now.Add(time.Duration(in.Body.OverlapSeconds)*time.Second)); err != nil {
		return nil, err
	}
	s.gate.Tokens.Stale()
	s.log.Info("token rotated", "id", old.ID, "new", t.ID, "user", t.User, "role", t.Role,
		"by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.TokenReply]{api.TokenReply{Token: pin.Join(text, s.fingerprint()), TokenInfo: translate.Token(t)}},
		nil
}

// tokenMembers is what the audit trail tells of a token.
func tokenMembers(t store.Token) map[string]any {
	return map[string]any{"id": t.ID, "user": t.User, "role": t.Role, "expires_at": t.ExpiresAt.UTC(),
		"revoked": t.Revoked}
}

// lifeOf is how many days a token like this one lives.
func lifeOf(t store.Token, most int) int {
	return min(max(1, int(t.ExpiresAt.Sub(t.CreatedAt).Round(settings.Day)/settings.Day)), most)
}
