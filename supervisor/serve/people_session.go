package serve

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/translate"
)

const (
	codeLife    = 5 * time.Minute
	sessionLife = 12 * time.Hour
)

// mayBegin bounds the rows that a user's codes and sessions make.
func (s *peopleService) mayBegin(p credentials.Principal) error {
	if p.SessionOf != "" && !p.Exchange {
		return api.Errorf(api.KindForbidden,
			"a session begins no other, for that would never end; run qb open, or give a token")
	}
	return s.limits.Begin(p.User)
}

// makeCode makes a code that begins one session with the caller's rights.
func (s *peopleService) makeCode(ctx context.Context, _ *nothing) (*jsonOf[api.CodeReply], error) {
	if s.pageLost != "" {
		return nil, api.Errorf(api.KindUnavailable, "the page cannot be opened: %s", s.pageLost)
	}
	p := gate.PrincipalOf(ctx)
	if err := s.mayBegin(p); err != nil {
		return nil, err
	}
	_, t, err := s.issue(ctx, "", credentials.Request{
		User: p.User, Role: p.Role, Life: codeLife, Uses: 1, SessionOf: p.Credential(), Audit: audit.Of(ctx).Made,
	})
	if err != nil {
		return nil, err
	}
	made := api.TokenReply{Token: s.gate.CodeText(t), TokenInfo: translate.Token(t)}
	return &jsonOf[api.CodeReply]{api.CodeReply{TokenReply: made, URL: pageURL(s.leader.own, t.ID)}}, nil
}

// pageURL is where the page has an origin for one session alone: without TLS a name that browsers lead to loopback by
// themselves. By TLS the certificate says who has served a document, and the supervisor's own name does.
func pageURL(own, code string) string {
	at, err := url.Parse(own)
	if err != nil || at.Scheme == "https" {
		return own
	}
	at.Host = code + ".localhost:" + at.Port()
	return at.String()
}

// beginSession exchanges a code for a session, which ends with the token that the code was made with.
func (s *peopleService) beginSession(ctx context.Context, _ *nothing) (*jsonOf[api.SessionReply], error) {
	p := gate.PrincipalOf(ctx)
	if err := s.mayBegin(p); err != nil {
		return nil, err
	}
	switch {
	case !p.Exchange:
		return nil, api.Errorf(api.KindForbidden, "a session is begun with a code alone; run qb open")
	case p.SessionOf == "":
		return nil, api.Errorf(api.KindForbidden, "this code is not for the page: use it with qb login, then run qb open")
	}
	_, t, err := s.issue(ctx, p.Token, credentials.Request{User: p.User, Role: p.Role, Life: sessionLife,
		SessionOf: p.SessionOf, Audit: audit.Of(ctx).Made})
	if errors.Is(err, credentials.ErrUsedUp) {
		err = api.Errorf(api.KindUnauthorized, "this code was used before; run qb open for another")
	}
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.SessionReply]{api.SessionReply{Key: s.gate.WrapKey(p.Token, t.ID), TokenInfo: translate.Token(t)}},
		nil
}

type proofIn struct {
	Session string `path:"session" maxLength:"64" doc:"The id of the session, or of the code."`
	Code    bool   `query:"code" doc:"The id is that of a code."`
	Nonce   string `query:"nonce" required:"true" minLength:"16" maxLength:"64" pattern:"^[A-Za-z0-9_-]*$" doc:"What the proof is for; another one each time."`
}

// proveServer lets a page know that it speaks with a supervisor of the farm, before the page sends anything else.
func (s *peopleService) proveServer(_ context.Context, in *proofIn) (answer, error) {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.gate.Prove(w, r, in.Session, in.Nonce, in.Code); err != nil {
			problem.Write(w, problem.Of(err))
		}
	}, nil
}
