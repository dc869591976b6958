package supervisor

import (
	"context"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/accounting"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/osusers"
	"qb/supervisor/store"
	"qb/supervisor/term"
	"qb/supervisor/translate"
)

// groupsOf are the groups of an owner of jobs: of his row, and of this machine.
func (s *server) groupsOf(ctx context.Context, owner string, known osusers.User) (accounting.Groups, error) {
	g := accounting.Groups{Names: known.Groups, Unsure: known.Unsure}
	row, found, err := s.gate.Tokens.Person(ctx, owner)
	if err == nil && found && credentials.PersonHolds(s.gate.Key, row) {
		g.Names = slices.Concat(row.Groups, g.Names)
	}
	return g, err
}

// accounts are those that are known, and those that only were charged.
func (s *server) accounts(ctx context.Context) ([]facts.AccountFacts, error) {
	return look(ctx, s, func(m term.Machine, _ time.Time) []facts.AccountFacts {
		known, _ := m.Accounts()
		return known
	})
}

func (s *server) listAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.Account], error) {
	known, err := s.accounts(ctx)
	return listed(known, err, translate.Account)
}

func (s *server) pastAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.PastAccount], error) {
	past, err := look(ctx, s, func(m term.Machine, _ time.Time) map[string][]string {
		_, past := m.Accounts()
		return past
	})
	paths := slices.Sorted(maps.Keys(past))
	return listed(paths[:min(len(paths), store.MaxPage)], err, func(path string) api.PastAccount { return api.PastAccount{Path: path, Users: past[path]} })
}

func (s *server) addAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
	return s.changeAccount(ctx, api.AddAccount, in, accountAdded(in.Body))
}

func accountAdded(a api.Account) accounting.AccountAdded {
	return accounting.AccountAdded{Path: a.Path, Users: a.Users, Groups: a.Groups, DefaultFor: a.DefaultFor}
}

type addAccountsIn struct {
	Key  string        `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body []api.Account `maxItems:"1000"`
}

// addAccounts adds all of them, or none.
func (s *server) addAccounts(ctx context.Context, in *addAccountsIn) (*jsonOf[api.AccountsReply], error) {
	change := accounting.AccountsAdded{List: translate.Each(in.Body, accountAdded)}
	audit.Of(ctx).Changes("many accounts", nil, in.Body)
	return changed(ctx, s, api.AddAccounts, in.Key, in, change, func(added int) api.AccountsReply { return api.AccountsReply{Affected: added} })
}

func (s *server) dropAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
	b := &in.Body
	return s.changeAccount(ctx, api.DropAccount, in, accounting.AccountRemoved{Path: b.Path, Users: b.Users, Groups: b.Groups, DefaultFor: b.DefaultFor})
}

func (s *server) changeAccount(ctx context.Context, e api.Endpoint, in *keyed[api.Account], change accounting.Change) (*jsonOf[api.Account], error) {
	known, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	before := before(known, translate.Account, func(a facts.AccountFacts) bool { return a.Path == in.Body.Path })
	audit.Of(ctx).Changes("account "+in.Body.Path, before, in.Body)
	return changed(ctx, s, e, in.Key, in, change, translate.Account)
}
