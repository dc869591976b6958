package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

// waitingAs are the tokens of the hosts that wait under a name, as the database has them now.
func (s *hostService) waitingAs(ctx context.Context, name string) ([]store.Token, error) {
	all, err := s.reader.GoodTokens(ctx, time.Now())
	if err != nil {
		return nil, problem.Reading("the tokens", err)
	}
	return slices.DeleteFunc(credentials.Waiting(s.gate.Key, all, time.Now()), func(t store.Token) bool {
		return t.Pending != name
	}), nil
}

// pendingHosts are listed behind the hosts of the farm.
func (s *hostService) pendingHosts() []*message.HostView {
	return translate.Each(s.gate.Tokens.Waiting(s.gate.Key, time.Now()), func(t store.Token) *message.HostView {
		return translate.PendingHost(t.Pending, credentials.Fingerprint(t.HostKey), t.CreatedAt)
	})
}

type approveHostIn struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name, as qbhosts lists it."`
}

// approveHost lets a host join that waits. Of two that wait under one name a person removes both, as one of them is a
// stranger.
func (s *hostService) approveHost(ctx context.Context, in *approveHostIn) (*jsonOf[api.HostReply], error) {
	list, err := s.waitingAs(ctx, in.Host)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, api.Errorf(api.KindNotFound, "no host %q waits for approval; qbhosts lists those that do as pending",
			problem.Clip(in.Host))
	case len(list) > 1:
		return nil, api.Errorf(api.KindConflict,
			"%d hosts wait under the name %q, such as the keys %s and %s: remove them with qbadmin worker -remove %[2]s, and let the one that you know join again",
			len(list), in.Host, credentials.Fingerprint(list[0].HostKey), credentials.Fingerprint(list[1].HostKey))
	}
	rows := audit.Of(ctx).Rows("host "+in.Host, pendingChange(list[0], map[string]string{"state": "approved"}))
	if err := credentials.Approve(ctx, s.gate.Key, s.reader, list[0].HostKey,
		min(settings.TokenDays, s.live.now.Load().TokenDays), rows); err != nil {
		return nil, err
	}
	s.gate.Tokens.Stale()
	s.log.Info("host approved", "host", in.Host, "key", facts.Short(list[0].HostKey), "by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.HostReply]{api.HostReply{Host: in.Host, Affected: 1}}, nil
}

// removePending ends the tokens of all hosts that wait under a name; done is false if there is none.
func (s *hostService) removePending(ctx context.Context, name string) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	list, err := s.waitingAs(ctx, name)
	if err != nil {
		return false, err
	}
	for _, t := range list {
		rows := audit.Of(ctx).Rows(fmt.Sprintf("host %s", name), pendingChange(t, map[string]string{"state": "removed"}))
		if _, err := s.reader.RevokeToken(ctx, t.ID, rows...); err != nil {
			return false, problem.Reading("revoking a host's token; remove it again", err)
		}
		if err := s.revokeHost(ctx, t.HostKey); err != nil {
			return false, err
		}
	}
	s.gate.Tokens.Stale()
	return len(list) > 0, nil
}

func pendingChange(t store.Token, after any) audit.Change {
	return audit.Change{Before: map[string]string{"state": "pending", "key": credentials.Fingerprint(t.HostKey)},
		After: after}
}
