package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/sso"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// beginSSO begins a login by single sign-on.
func (s *peopleService) beginSSO(ctx context.Context, _ *nothing) (*jsonOf[api.SSOBegun], error) {
	d, err := s.sso.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.SSOBegun]{api.SSOBegun{
		DeviceCode: d.Code, UserCode: d.UserCode, URL: d.URL, FullURL: d.FullURL,
		ExpiresAt: d.Until.UTC().Truncate(time.Second), IntervalSeconds: d.Interval,
	}}, nil
}

type finishSSOIn struct{ Body api.SSORequest }

// finishSSO makes a token for the person whom the provider names, if that is a user.
func (s *peopleService) finishSSO(ctx context.Context, in *finishSSOIn) (*jsonOf[api.SSOReply], error) {
	c := s.live.now.Load()
	most := min(c.OIDCDays, c.TokenDays)
	if in.Body.Days > most {
		return nil, problem.Invalid("days", "%d: use 1 to %d, as supervisor_oidc_token_days and supervisor_token_days say",
			in.Body.Days, most)
	}
	if err := translate.CheckName("name", in.Body.Name); err != nil {
		return nil, err
	}
	who, err := s.sso.Finish(ctx, in.Body.DeviceCode)
	if slow := errors.Is(err, sso.ErrSlowDown); slow || errors.Is(err, sso.ErrPending) {
		return &jsonOf[api.SSOReply]{api.SSOReply{Pending: true, SlowDown: slow}}, nil
	}
	if err != nil {
		s.log.Warn("login by single sign-on refused", "reason", err, "remote", requestFactsOf(ctx).origin)
		return nil, err
	}
	audit.Of(ctx).Asks(who.Name)
	p, err := s.admitted(ctx, who)
	if err != nil {
		s.log.Warn("login by single sign-on refused", "user", who.Name, "reason", err, "remote", requestFactsOf(ctx).origin)
		return nil, err
	}
	text, t, err := s.issue(ctx, "", credentials.Request{
		User: p.Name, Role: api.Role(p.Role), Days: cmp.Or(in.Body.Days, most), Name: in.Body.Name, Audit: audit.Of(ctx).Made,
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("logged in by single sign-on", "user", t.User, "role", t.Role, "token", t.ID)
	return &jsonOf[api.SSOReply]{api.SSOReply{Token: &api.TokenReply{Token: pin.Join(text, s.fingerprint()),
		TokenInfo: translate.Token(t)}}}, nil
}

// admitted returns the row of a user that the provider names: an existing row, or a new one where a group of the
// provider admits the user. The row decides about rights, not the provider.
func (s *peopleService) admitted(ctx context.Context, who sso.Identity) (store.Person, error) {
	if err := translate.CheckUser(who.Name); err != nil {
		return store.Person{}, api.Errorf(api.KindForbidden,
			"the provider names you %q, which cannot be a user of a farm; ask the farm's administrator", problem.Clip(who.Name))
	}
	rows, err := s.people(ctx)
	if err != nil {
		return store.Person{}, err
	}
	if n := slices.IndexFunc(rows, func(p store.Person) bool { return p.Name == who.Name }); n >= 0 {
		switch p := rows[n]; {
		case !credentials.PersonHolds(s.gate.Key, p):
			return store.Person{}, api.Errorf(api.KindForbidden,
				"the row of user %s was changed in the database by other means than qb and is refused; an admin removes the user and adds him again with qbadmin user",
				p.Name)
		case p.Disabled:
			return store.Person{}, api.Errorf(api.KindForbidden, "user %s is disabled; ask the farm's administrator", p.Name)
		default:
			return p, nil
		}
	}
	list, err := s.live.now.Load().Admissions()
	if err != nil {
		return store.Person{}, err // Validate has read them
	}
	role := who.Admit(list)
	if role == "" {
		return store.Person{}, api.Errorf(api.KindForbidden,
			"the provider names you %s, who is no user of this farm; an admin adds users with qbadmin user add %[1]s -role user",
			who.Name)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	return s.addRow(ctx, store.Person{Name: who.Name, Role: role, CreatedAt: now, CreatedBy: "single sign-on", Since: now})
}
