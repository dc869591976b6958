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
	"qb/supervisor/message"
	"qb/supervisor/osusers"
	"qb/supervisor/outbox"
	"qb/supervisor/store"
	"qb/supervisor/term"
	"qb/supervisor/translate"
)

// groupsOf are the groups of an owner of jobs: of his row, and of this machine.
func (s *server) groupsOf(ctx context.Context, owner string, known osusers.User) (accounting.Groups, error) {
	g := accounting.Groups{Names: known.Groups, Unsure: known.Unsure}
	row, found, err := s.gate.tokens.Person(ctx, owner)
	if err == nil && found && credentials.PersonHolds(s.gate.key, row) {
		g.Names = slices.Concat(row.Groups, g.Names)
	}
	return g, err
}

// accounts are those that are known, and those that only were charged.
func (s *server) accounts(ctx context.Context) (known []facts.AccountFacts, past map[string][]string, err error) {
	l, err := s.leading()
	if err != nil {
		return nil, nil, err
	}
	err = l.Look(ctx, func(m term.Machine, _ time.Time) { known, past = m.Accounts() })
	return known, past, err
}

func (s *server) listAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.Account], error) {
	known, _, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := &jsonOf[[]api.Account]{Body: make([]api.Account, 0, len(known))}
	for _, a := range known {
		out.Body = append(out.Body, translate.Account(a))
	}
	return out, nil
}

func (s *server) pastAccounts(ctx context.Context, _ *nothing) (*jsonOf[[]api.PastAccount], error) {
	_, past, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	out := &jsonOf[[]api.PastAccount]{Body: []api.PastAccount{}}
	for _, path := range slices.Sorted(maps.Keys(past)) {
		if len(out.Body) == store.MaxPage {
			break
		}
		out.Body = append(out.Body, api.PastAccount{Path: path, Users: past[path]})
	}
	return out, nil
}

func (s *server) addAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
	b := &in.Body
	return s.changeAccount(ctx, api.AddAccount, in, accounting.AccountAdded{Path: b.Path, Users: b.Users, Groups: b.Groups, DefaultFor: b.DefaultFor})
}

type addAccountsIn struct {
	Key  string        `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body []api.Account `maxItems:"1000"`
}

// addAccounts adds all of them, or none.
func (s *server) addAccounts(ctx context.Context, in *addAccountsIn) (*jsonOf[api.AccountsReply], error) {
	var change accounting.AccountsAdded
	for _, b := range in.Body {
		change.List = append(change.List, accounting.AccountAdded{Path: b.Path, Users: b.Users, Groups: b.Groups, DefaultFor: b.DefaultFor})
	}
	audit.Of(ctx).Changes("many accounts", nil, in.Body)
	shape := func(body any) *jsonOf[api.AccountsReply] {
		return &jsonOf[api.AccountsReply]{api.AccountsReply{Affected: body.(int)}}
	}
	return once(ctx, s, api.AddAccounts, in.Key, in, shape, s.accountsChange(ctx, change))
}

func (s *server) dropAccount(ctx context.Context, in *keyed[api.Account]) (*jsonOf[api.Account], error) {
	b := &in.Body
	return s.changeAccount(ctx, api.DropAccount, in, accounting.AccountRemoved{Path: b.Path, Users: b.Users, Groups: b.Groups, DefaultFor: b.DefaultFor})
}

func (s *server) changeAccount(ctx context.Context, e api.Endpoint, in *keyed[api.Account], change accounting.Change) (*jsonOf[api.Account], error) {
	known, _, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	var before any
	if n := slices.IndexFunc(known, func(a facts.AccountFacts) bool { return a.Path == in.Body.Path }); n >= 0 {
		before = translate.Account(known[n])
	}
	audit.Of(ctx).Changes("account "+in.Body.Path, before, in.Body)
	shape := func(body any) *jsonOf[api.Account] {
		return &jsonOf[api.Account]{translate.Account(body.(facts.AccountFacts))}
	}
	return once(ctx, s, e, in.Key, in, shape, s.accountsChange(ctx, change))
}

// accountsChange asks the farm for a change of its accounts.
func (s *server) accountsChange(ctx context.Context, change accounting.Change) func(term.Call) (any, error) {
	return func(c term.Call) (any, error) {
		return c.Ask(ctx, func(t outbox.Ticket) message.Event {
			return message.AccountsChanged{Ticket: t, By: principalOf(ctx).User, Change: change}
		})
	}
}
