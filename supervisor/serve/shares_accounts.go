package serve

import (
	"context"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// accounts returns the accounts that were created, and the accounts that exist only because items were charged to them.
func (s *shareService) accounts(ctx context.Context) ([]facts.AccountFacts, error) {
	return look(ctx, s.backend, func(m term.Machine, _ time.Time) []facts.AccountFacts {
		known, _ := m.Accounts()
		return known
	})
}

func (s *shareService) listAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.Account], error) {
	known, err := s.accounts(ctx)
	return listed(known, err, translate.Account)
}

func (s *shareService) pastAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.PastAccount], error) {
	past, err := look(ctx, s.backend, func(m term.Machine, _ time.Time) map[string][]string {
		_, past := m.Accounts()
		return past
	})
	paths := slices.Sorted(maps.Keys(past))
	return listed(paths[:min(len(paths), store.MaxPage)], err, func(path string) api.PastAccount {
		return api.PastAccount{Path: path, Users: past[path]}
	})
}

func (s *shareService) addAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
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
func (s *shareService) addAccounts(ctx context.Context, in *addAccountsIn) (*jsonOf[api.AccountsReply], error) {
	change := accounting.AccountsAdded{List: translate.Each(in.Body, accountAdded)}
	audit.Of(ctx).Changes("many accounts", nil, in.Body)
	return changed(ctx, s.backend, api.AddAccounts, in.Key, in, change, func(added int) api.AccountsReply {
		return api.AccountsReply{Affected: added}
	})
}

func (s *shareService) dropAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
	b := &in.Body
	return s.changeAccount(ctx, api.DropAccount, in,
		accounting.AccountRemoved{Path: b.Path, Users: b.Users, Groups: b.Groups, DefaultFor: b.DefaultFor})
}

func (s *shareService) changeAccount(ctx context.Context, e api.Endpoint, in *keyed[api.Account],
	change accounting.Change) (*jsonOf[api.Account], error) {
	known, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	before := before(known, translate.Account, func(a facts.AccountFacts) bool { return a.Path == in.Body.Path })
	audit.Of(ctx).Changes("account "+in.Body.Path, before, in.Body)
	return changed(ctx, s.backend, e, in.Key, in, change, translate.Account)
}
