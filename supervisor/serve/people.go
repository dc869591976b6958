package serve

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/sso"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// peopleService keeps users and their credentials: tokens, sessions of the page, single sign-on.
type peopleService struct {
	*backend
	sso         *sso.Provider
	fingerprint func() string // of the farm's CA, for tokens; "" if they need none
	pageLost    string        // why the page can begin no session; "": it can
}

func (s *peopleService) register(rt *routes) {
	mount(rt, api.MakeCode, led(s.backend, s.makeCode), created)
	mount(rt, api.BeginSession, s.beginSession, created)
	mountStream(rt, api.ProveServer, s.proveServer, "application/json")
	mount(rt, api.CreateToken, s.createToken, created)
	mount(rt, api.ListTokens, s.listTokens)
	mount(rt, api.RotateToken, s.rotateToken, created)
	mount(rt, api.RevokeToken, bounded(s.revokeToken))
	mount(rt, api.ListPeople, s.listPeople)
	mount(rt, api.AddPerson, bounded(s.addPerson), created)
	mount(rt, api.GetPerson, s.getPerson)
	mount(rt, api.ChangePerson, bounded(s.changePerson))
	mount(rt, api.RemovePerson, bounded(s.removePerson))
	mount(rt, api.Invite, s.invite, created)
	mount(rt, api.Login, s.login, created)
	mount(rt, api.BeginSSO, s.beginSSO, body(maxOpenBody))
	mount(rt, api.FinishSSO, s.finishSSO, body(maxOpenBody))
	mount(rt, api.OwnTokens, s.ownTokens)
	mount(rt, api.RevokeOwn, bounded(s.revokeOwn))
}

// listPeople shows the users that were added.
func (s *peopleService) listPeople(ctx context.Context, _ *nothing) (*jsonOf[[]api.Person], error) {
	rows, err := s.people(ctx)
	return listed(rows, err, s.shownPerson)
}

func (s *peopleService) people(ctx context.Context) ([]store.Person, error) {
	rows, err := s.reader.People(ctx)
	return rows, problem.Reading("the users", err)
}

func (s *peopleService) shownPerson(p store.Person) api.Person {
	return api.Person{
		Name: p.Name, Role: p.Role, Groups: translate.OrEmpty(p.Groups), Leads: translate.OrEmpty(p.Leads),
		SubmitAs: translate.OrEmpty(p.SubmitAs),
		Rights:   credentials.RowRights(p, s.live.now.Load().UserRights()).Names(), OwnRights: p.Rights != nil,
		Disabled: p.Disabled, Sealed: credentials.PersonHolds(s.gate.Key, p), CreatedAt: p.CreatedAt.UTC(),
		CreatedBy: p.CreatedBy,
	}
}

type personIn struct {
	User string `path:"user" maxLength:"255" doc:"The user's name."`
}

// getPerson shows one user, to admins and to the user.
func (s *peopleService) getPerson(ctx context.Context, in *personIn) (*jsonOf[api.Person], error) {
	if err := gate.Authorise(gate.PrincipalOf(ctx), api.GetPerson, "", gate.OwnedBy(in.User)); err != nil {
		return nil, err
	}
	row, err := s.person(ctx, in.User)
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.Person]{s.shownPerson(row)}, nil
}

// person reads a user's row, which no other supervisor can have changed unnoticed then.
func (s *peopleService) person(ctx context.Context, name string) (store.Person, error) {
	rows, err := s.people(ctx)
	if err != nil {
		return store.Person{}, err
	}
	n := slices.IndexFunc(rows, func(p store.Person) bool { return p.Name == name })
	if n < 0 {
		return store.Person{}, api.Errorf(api.KindNotFound,
			"there is no user %q; add the user with qbadmin user add, or write a name that qbadmin user list shows",
			problem.Clip(name))
	}
	return rows[n], nil
}

type addPersonIn struct{ Body api.PersonRequest }

// addPerson adds a user. Tokens that were made for the name before end: they gave rights that no row bounded.
func (s *peopleService) addPerson(ctx context.Context, in *addPersonIn) (*jsonOf[api.Person], error) {
	b, now := &in.Body, time.Now().UTC().Truncate(time.Microsecond)
	if err := s.mayGive(ctx, "", store.Person{Role: b.Role, Rights: b.Rights}); err != nil {
		return nil, err
	}
	p, err := s.addRow(ctx, store.Person{
		Name: b.Name, Role: b.Role, Groups: b.Groups, Leads: b.Leads, SubmitAs: b.SubmitAs, Rights: b.Rights,
		CreatedAt: now, CreatedBy: gate.PrincipalOf(ctx).User, Since: now,
	})
	return &jsonOf[api.Person]{s.shownPerson(p)}, err
}

// addRow seals and stores the row of a new user.
func (s *peopleService) addRow(ctx context.Context, p store.Person) (store.Person, error) {
	if err := checkPerson(&p); err != nil {
		return p, err
	}
	if credentials.IsService(p.Name) || p.Name == string(api.Worker) {
		return p, problem.Invalid(
			"name",
			"%q: root, the supervisor's own account and the name of workers cannot be added; root and that account are always admins",
			p.Name,
		)
	}
	p.Seal = credentials.SealPerson(s.gate.Key, p)
	done, err := s.reader.AddPerson(ctx, p, audit.Of(ctx).Made("user "+p.Name, s.shownPerson(p))...)
	switch {
	case err != nil:
		return p, problem.Reading("adding a user", err)
	case !done:
		return p, api.Errorf(api.KindConflict,
			"user %s was added before, or there are %d users, which is the most; change a user with qbadmin user set", p.Name,
			store.MaxPeople)
	}
	s.gate.Tokens.Stale()
	s.log.Info("user added", "user", p.Name, "role", p.Role, "by", p.CreatedBy)
	return p, nil
}

type changePersonIn struct {
	User string `path:"user" maxLength:"255" doc:"The user's name."`
	Body api.PersonChange
}

// changePerson replaces a user's row. Another role, or being disabled, ends the user's tokens.
func (s *peopleService) changePerson(ctx context.Context, in *changePersonIn) (*jsonOf[api.Person], error) {
	before, err := s.person(ctx, in.User)
	if err != nil {
		return nil, err
	}
	if !credentials.PersonHolds(s.gate.Key, before) {
		return nil, api.Errorf(api.KindConflict,
			"the row of user %s was changed in the database by other means than qb; remove the user and add him again",
			before.Name)
	}
	next, c := before, &in.Body
	if c.Role != nil {
		next.Role, next.Rights = *c.Role, nil
	}
	set(&next.Rights, c.Rights)
	set(&next.Groups, c.Groups)
	set(&next.Leads, c.Leads)
	set(&next.SubmitAs, c.SubmitAs)
	set(&next.Disabled, c.Disabled)
	if err := checkPerson(&next); err != nil {
		return nil, err
	}
	if err := s.mayGive(ctx, before.Name, next); err != nil {
		return nil, err
	}
	if next.Role != before.Role || next.Disabled && !before.Disabled {
		next.Since = time.Now().UTC().Truncate(time.Microsecond)
	}
	next.Seal = credentials.SealPerson(s.gate.Key, next)
	rows := audit.Of(ctx).Rows("user "+next.Name, audit.Change{Before: s.shownPerson(before), After: s.shownPerson(next)})
	done, err := s.reader.ChangePerson(ctx, before, next, rows...)
	switch {
	case err != nil:
		return nil, problem.Reading("changing a user", err)
	case !done:
		return nil, api.Errorf(api.KindConflict,
			"user %s was changed by another admin at the same time; look again and repeat the change", next.Name)
	}
	s.gate.Tokens.Stale()
	s.log.Info("user changed", "user", next.Name, "role", next.Role, "disabled", next.Disabled,
		"by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.Person]{s.shownPerson(next)}, nil
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// removePerson removes a user, whose tokens end.
func (s *peopleService) removePerson(ctx context.Context, in *personIn) (*jsonOf[api.PersonReply], error) {
	before, err := s.person(ctx, in.User)
	if err == nil { // a local user then has the role user
		err = s.mayGive(ctx, before.Name, store.Person{Role: string(api.User)})
	}
	if err != nil {
		return nil, err
	}
	done, err := s.reader.RemovePerson(ctx, before.Name,
		audit.Of(ctx).Rows("user "+before.Name, audit.Change{Before: s.shownPerson(before)})...)
	switch {
	case err != nil:
		return nil, problem.Reading("removing a user", err)
	case !done:
		return nil, api.Errorf(api.KindConflict, "user %s was removed by another admin at the same time", before.Name)
	}
	s.gate.Tokens.Stale()
	s.log.Info("user removed", "user", before.Name, "by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.PersonReply]{api.PersonReply{Name: before.Name, Removed: true}}, nil
}

// groupPattern matches names of groups of users.
var groupPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)
})

// checkPerson refuses what cannot be a user, and sorts the lists, each name once.
func checkPerson(p *store.Person) error {
	if err := translate.CheckUser(p.Name); err != nil {
		return err
	}
	if !slices.Contains(credentials.PersonRoles, api.Role(p.Role)) {
		return problem.Invalid("role", "%q; use admin, operator, user or read-only", problem.Clip(p.Role))
	}
	if err := checkPersonRights(p); err != nil {
		return err
	}
	for field, list := range map[string]*[]string{"groups": &p.Groups, "leads": &p.Leads, "submit_as": &p.SubmitAs} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
		for _, name := range *list {
			switch {
			case field != "submit_as" && !groupPattern().MatchString(name):
				return problem.Invalid(
					field,
					"%q is no name of a group; use letters, digits and . _ - only, at most 64",
					problem.Clip(name),
				)
			case field == "submit_as" && name != "*" && (translate.CheckUser(name) != nil || credentials.IsService(name)):
				return problem.Invalid(field,
					"%q: use names of users, or *; nobody but admins submits for root and the supervisor's own account",
					problem.Clip(name))
			}
		}
	}
	return nil
}

// checkPersonRights refuses rights that do not go with the role, and gives them their names in order.
func checkPersonRights(p *store.Person) error {
	if p.Rights == nil {
		return nil
	}
	rights, wrong := api.RightsOf(p.Rights)
	role := api.Role(p.Role)
	switch {
	case wrong != "":
		return problem.Invalid("rights", "%q is no right; use %s", problem.Clip(wrong),
			strings.ReplaceAll(api.EveryRight.String(), ",", ", "))
	case rights.Has(api.MayAdmin) && role != api.Admin, rights.Has(api.MaySudo) && role != api.Admin &&
		role != api.Operator:
		return problem.Invalid("rights", "admin goes with the role admin alone, sudo with the roles operator and admin")
	case role == api.ReadOnly && rights&^api.MaySee != 0:
		return problem.Invalid("rights", "the role read-only has no right but see; give the role user")
	}
	p.Rights = (rights | api.MaySee).Names()
	return nil
}

// mayGive returns an error if the row after gives the user a new right that the caller lacks. A right is new if the
// present valid row of the user does not give it. Name "" says that there is no present row.
func (s *peopleService) mayGive(ctx context.Context, name string, after store.Person) error {
	ofUsers, before := s.live.now.Load().UserRights(), api.Rights(0)
	if row, found, err := s.gate.Tokens.Person(ctx, name); name != "" && err == nil && found &&
		credentials.PersonHolds(s.gate.Key, row) {
		before = credentials.RowRights(row, ofUsers)
	}
	return gate.MayHandOut(gate.PrincipalOf(ctx), credentials.RowRights(after, ofUsers)&^before)
}

// mayMake returns an error if a token would give rights that the caller lacks.
func (s *peopleService) mayMake(ctx context.Context, user string, role api.Role) error {
	rights, err := s.gate.Tokens.RightsWith(ctx, user, role, s.live.now.Load().UserRights())
	if err != nil {
		return err
	}
	return gate.MayHandOut(gate.PrincipalOf(ctx), rights)
}
