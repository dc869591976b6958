package serve

import (
	"cmp"
	"context"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/translate"
)

// everybody names the profiles of all users.
const everybody = "*"

type listProfilesIn struct {
	User string `query:"user" maxLength:"255" doc:"Whose; empty: the caller's, *: of all users. Those of others are for operators."`
	Name string `query:"name" maxLength:"255" doc:"Only the profile of that name; empty: all."`
}

func (s *adminService) listProfiles(ctx context.Context, in *listProfilesIn) (*jsonOf[[]api.Profile], error) {
	owner := cmp.Or(in.User, gate.PrincipalOf(ctx).User)
	if err := gate.Authorise(gate.PrincipalOf(ctx), api.ListProfiles, "", gate.OwnedBy(owner)); err != nil {
		return nil, err
	}
	list, err := s.knownProfiles(ctx, facts.ProfileKey{Owner: owner, Name: in.Name})
	return listed(list, err, translate.Profile)
}

func (s *adminService) knownProfiles(ctx context.Context, key facts.ProfileKey) ([]profiles.Profile, error) {
	if key.Owner == everybody {
		key.Owner = ""
	}
	return looked(ctx, s.backend, func(m term.Machine, now time.Time) []profiles.Profile { return m.Profiles(now, key) })
}

type setProfileIn struct {
	Profile string `path:"profile" maxLength:"255" doc:"The profile's name."`
	User    string `query:"user" maxLength:"255" doc:"Whose; empty: the caller's. Those of others are for operators."`
	Key     string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body    api.ProfileChange
}

func (s *adminService) setProfile(ctx context.Context, in *setProfileIn) (*jsonOf[api.Profile], error) {
	change := profiles.Change{Key: facts.ProfileKey{Owner: in.User, Name: in.Profile}, Memory: in.Body.Memory,
		Seconds: in.Body.Seconds}
	return s.changeProfile(ctx, api.SetProfile, in.Key, in, change, in.Body)
}

type forgetProfileIn struct {
	Profile string `path:"profile" maxLength:"255" doc:"The profile's name."`
	User    string `query:"user" maxLength:"255" doc:"Whose; empty: the caller's. Those of others are for operators."`
	Key     string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
}

func (s *adminService) forgetProfile(ctx context.Context, in *forgetProfileIn) (*jsonOf[api.Profile], error) {
	change := profiles.Change{Key: facts.ProfileKey{Owner: in.User, Name: in.Profile}, Forget: true}
	return s.changeProfile(ctx, api.ForgetProfile, in.Key, in, change, map[string]bool{"forgotten": true})
}

func (s *adminService) changeProfile(ctx context.Context, e api.Endpoint, key string, request any,
	change profiles.Change, after any) (*jsonOf[api.Profile], error) {
	change.Key.Owner = cmp.Or(change.Key.Owner, gate.PrincipalOf(ctx).User)
	if err := gate.Authorise(gate.PrincipalOf(ctx), e, "", gate.OwnedBy(change.Key.Owner)); err != nil {
		return nil, err
	}
	known, err := s.knownProfiles(ctx, change.Key)
	if err != nil {
		return nil, err
	}
	before := before(known, translate.Profile, func(profiles.Profile) bool { return true })
	audit.Of(ctx).Changes("profile "+change.Key.Name+" of "+change.Key.Owner, before, after)
	return asked(ctx, s.backend, e, key, request, translate.Profile, func(t outbox.Ticket, by string) message.Event {
		return message.ProfileChanged{Ticket: t, By: by, Change: change}
	})
}
