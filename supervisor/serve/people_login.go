package serve

import (
	"cmp"
	"context"
	"errors"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

// codeName is the name of the code of an invitation: like the tokens of logins it needs a row of its user.
const codeName = "invitation"

type inviteIn struct {
	User string `path:"user" maxLength:"255" doc:"The user's name."`
	Body api.InviteRequest
}

// invite makes a code for a user: a token that may be exchanged once, and is good for nothing else.
func (s *peopleService) invite(ctx context.Context, in *inviteIn) (*jsonOf[api.TokenReply], error) {
	p, err := s.person(ctx, in.User)
	if err == nil {
		err = s.mayMake(ctx, p.Name, api.Role(p.Role))
	}
	if err != nil {
		return nil, err
	}
	life := cmp.Or(time.Duration(in.Body.TTLSeconds)*time.Second, time.Hour)
	text, t, err := s.issue(ctx, "", credentials.Request{
		User: p.Name, Role: api.Role(p.Role), Life: life, Uses: 1, Name: codeName, Audit: audit.Of(ctx).Made,
	})
	if err == nil {
		s.log.Info("user invited", "user", p.Name, "token", t.ID, "by", gate.PrincipalOf(ctx).User)
	}
	return issued(pin.Join(text, s.fingerprint()), t, err)
}

type loginIn struct{ Body api.LoginRequest }

// login exchanges the code of an invitation for a token. Other tokens make no tokens: they would never end.
func (s *peopleService) login(ctx context.Context, in *loginIn) (*jsonOf[api.TokenReply], error) {
	p, most := gate.PrincipalOf(ctx), s.live.now.Load().TokenDays
	if !p.Exchange || !p.Login || p.SessionOf != "" {
		return nil, api.Errorf(api.KindForbidden,
			"a login needs the code of an invitation, which an admin makes with qbadmin user invite %s", p.User)
	}
	if in.Body.Days > most {
		return nil, problem.Invalid("days", "%d: use 1 to supervisor_token_days = %d", in.Body.Days, most)
	}
	if err := translate.CheckName("name", in.Body.Name); err != nil {
		return nil, err
	}
	text, t, err := s.issue(ctx, p.Token, credentials.Request{
		User: p.User, Role: p.Role, Days: cmp.Or(in.Body.Days, min(settings.TokenDays, most)), Name: in.Body.Name,
		Audit: audit.Of(ctx).Made,
	})
	if errors.Is(err, credentials.ErrUsedUp) {
		return nil, api.Errorf(api.KindUnauthorized,
			"this code was used before; an admin makes another with qbadmin user invite %s", p.User)
	}
	if err == nil {
		s.log.Info("logged in", "user", t.User, "role", t.Role, "token", t.ID, "code", p.Token)
	}
	return issued(pin.Join(text, s.fingerprint()), t, err)
}

// ownTokens lists the caller's tokens.
func (s *peopleService) ownTokens(ctx context.Context, _ *nothing) (*jsonOf[[]api.TokenInfo], error) {
	tokens, err := s.reader.UserTokens(ctx, gate.PrincipalOf(ctx).User)
	return listed(tokens, problem.Reading("a user's tokens", err), translate.Token)
}

// revokeOwn revokes a token of the caller's.
func (s *peopleService) revokeOwn(ctx context.Context, in *tokenIn) (*jsonOf[api.RevokeReply], error) {
	t, found, err := s.reader.Token(ctx, in.Token)
	if err != nil {
		return nil, problem.Reading("the token", err)
	}
	if !found || t.HostKey != "" {
		return nil, api.Errorf(api.KindNotFound, "there is no token %q; qb login -list shows yours", problem.Clip(in.Token))
	}
	if err := gate.Authorise(gate.PrincipalOf(ctx), api.RevokeOwn, "", gate.OwnedBy(t.User)); err != nil {
		return nil, err
	}
	return s.revokeToken(ctx, in)
}
