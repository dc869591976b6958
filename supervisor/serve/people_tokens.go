package serve

import (
	"cmp"
	"context"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

type createTokenIn struct{ Body api.TokenRequest }

// issue makes a token, or exchanges the one with the id from for it, once all others will know it.
func (s *backend) issue(ctx context.Context, from string,
	want credentials.Request) (text string, t store.Token, err error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	if from == "" {
		text, t, err = credentials.Make(ctx, s.gate.Key, s.reader, want)
	} else {
		text, t, err = credentials.Exchange(ctx, s.gate.Key, s.reader, from, want)
	}
	if err == nil {
		s.gate.Tokens.Stale()
	}
	return text, t, err
}

// issued is the answer that has the only copy of a token.
func issued(text string, t store.Token, err error) (*jsonOf[api.TokenReply], error) {
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.TokenReply]{api.TokenReply{Token: text, TokenInfo: translate.Token(t)}}, nil
}

func (s *peopleService) createToken(ctx context.Context, in *createTokenIn) (*jsonOf[api.TokenReply], error) {
	most := s.live.now.Load().TokenDays
	if in.Body.Days > most {
		return nil, problem.Invalid("days", "%d: use 1 to supervisor_token_days = %d", in.Body.Days, most)
	}
	life := time.Duration(in.Body.TTLSeconds) * time.Second
	if life < 0 || life > time.Duration(most)*settings.Day || life > 0 && in.Body.Days > 0 {
		return nil, problem.Invalid("ttl_seconds", "%d: use 1 to supervisor_token_days = %d days, without days",
			in.Body.TTLSeconds, most)
	}
	if err := s.mayMake(ctx, in.Body.User, api.Role(in.Body.Role)); err != nil {
		return nil, err
	}
	text, t, err := s.issue(ctx, "", credentials.Request{
		Life: life, Uses: in.Body.Uses,
		User: in.Body.User, Role: api.Role(in.Body.Role), Days: cmp.Or(in.Body.Days, min(settings.TokenDays, most)),
		Audit: audit.Of(ctx).Made,
	})
	if err == nil {
		s.log.Info("token created", "id", t.ID, "user", t.User, "role", t.Role, "by", gate.PrincipalOf(ctx).User)
	}
	return issued(pin.Join(text, s.fingerprint()), t, err)
}

func (s *peopleService) listTokens(ctx context.Context, _ *nothing) (*jsonOf[[]api.TokenInfo], error) {
	tokens, err := s.reader.Tokens(ctx)
	return listed(tokens, problem.Reading("the tokens", err), translate.Token)
}

type tokenIn struct {
	Token string `path:"token" maxLength:"64" doc:"The token's id."`
}

func (s *peopleService) revokeToken(ctx context.Context, in *tokenIn) (*jsonOf[api.RevokeReply], error) {
	old, _, err := s.reader.Token(ctx, in.Token)
	if err != nil {
		return nil, problem.Reading("the token", err)
	}
	change := audit.Change{Before: tokenMembers(old), After: map[string]bool{"revoked": true}}
	revoked, err := s.reader.RevokeToken(ctx, in.Token,
		audit.Of(ctx).Rows("token "+problem.ClipTo(in.Token, audit.MaxObject), change)...)
	if err != nil {
		return nil, problem.Reading("revoking a token", err)
	}
	if !revoked {
		return nil, api.Errorf(api.KindNotFound, "there is no valid token %q; qbadmin token list shows the ids",
			problem.Clip(in.Token))
	}
	s.gate.Tokens.Stale()
	s.log.Info("token revoked", "id", in.Token, "by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.RevokeReply]{api.RevokeReply{ID: in.Token, Revoked: true}}, nil
}
