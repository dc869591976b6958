package supervisor

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"qb/api"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/gate"
)

const (
	codeLife    = 5 * time.Minute
	sessionLife = 12 * time.Hour
)

// sessionPace bounds the rows that codes and sessions make.
var sessionPace = rate.NewLimiter(5, 1000)

func mayBegin(p credentials.Principal) error {
	switch {
	case p.SessionOf != "" && !p.Exchange:
		return api.Errorf(api.KindForbidden, "a session begins no other, for that would never end; run qb open, or give a token")
	case !sessionPace.Allow():
		return api.Errorf(api.KindLimit, "too many sessions are begun now; try again in a minute")
	}
	return nil
}

// makeCode makes a code that begins one session with the caller's rights.
func (s *server) makeCode(ctx context.Context, _ *nothing) (*jsonOf[api.TokenReply], error) {
	p := gate.PrincipalOf(ctx)
	if err := mayBegin(p); err != nil {
		return nil, err
	}
	return issued(s.issue(ctx, "", credentials.Request{
		User: p.User, Role: p.Role, Life: codeLife, Uses: 1, SessionOf: p.Credential(), Audit: audit.Of(ctx).Made,
	}))
}

// beginSession exchanges a code for a session, or begins one with the caller's token. The session ends with that token.
func (s *server) beginSession(ctx context.Context, _ *nothing) (*jsonOf[api.TokenReply], error) {
	p := gate.PrincipalOf(ctx)
	if err := mayBegin(p); err != nil {
		return nil, err
	}
	want, code := credentials.Request{User: p.User, Role: p.Role, Life: sessionLife, SessionOf: p.Credential(), Audit: audit.Of(ctx).Made}, ""
	switch {
	case p.Exchange && p.SessionOf == "":
		return nil, api.Errorf(api.KindForbidden, "this code is not for the page: use it with qb login, then run qb open")
	case p.Exchange:
		want.SessionOf, code = p.SessionOf, p.Token
	}
	text, t, err := s.issue(ctx, code, want)
	if errors.Is(err, credentials.ErrUsedUp) {
		err = api.Errorf(api.KindUnauthorized, "this code was used before; run qb open for another")
	}
	return issued(text, t, err)
}
