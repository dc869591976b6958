package supervisor

import (
	"cmp"
	"context"
	"math"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
	"qb/supervisor/settings"
	"qb/supervisor/slotmap"
	"qb/supervisor/store"
	"qb/supervisor/translate"
)

type nothing struct{}

type getHostIn struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name."`
}

// getHost shows one of them.
func (s *server) getHost(_ context.Context, in *getHostIn) (*jsonOf[api.Host], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	if h := s.host(in.Host); h != nil {
		return &jsonOf[api.Host]{Body: s.withTerm(translate.Host(*h))}, nil
	}
	for _, h := range s.pendingHosts() {
		if h.Name == in.Host {
			return &jsonOf[api.Host]{Body: h}, nil
		}
	}
	return nil, api.Errorf(api.KindNotFound, "there is no host %q", problem.Clip(in.Host))
}

// hostConfiguration shows a worker's settings, as it reported them, and where each comes from.
func (s *server) hostConfiguration(_ context.Context, in *getHostIn) (*jsonOf[api.HostSettings], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	if h := s.host(in.Host); h != nil {
		if show, known := s.workers.Show(s.now(), in.Host, h.Incarnation); known {
			return &jsonOf[api.HostSettings]{Body: show}, nil
		}
	}
	return nil, unheard(in.Host)
}

func unheard(host string) error {
	return api.Errorf(api.KindNotFound, "there is no host %q that has reported its settings to this supervisor", problem.Clip(host))
}

// restartHost has a worker start again. Whether it did is for the host's configuration to tell.
func (s *server) restartHost(ctx context.Context, in *getHostIn) (*jsonOf[api.RestartReply], error) {
	if s.host(in.Host) == nil {
		return nil, unheard(in.Host)
	}
	reply, known := s.workers.Restart(s.now(), in.Host)
	if !known {
		return nil, unheard(in.Host)
	}
	n := audit.Of(ctx)
	n.Changes("host "+in.Host, s.hostMembers(in.Host), map[string]string{"restarted": facts.Short(reply.Incarnation)})
	s.audit.Changed(n)
	s.log.Info("worker is to start again", "host", in.Host, "by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.RestartReply]{Body: reply}, nil
}

// slotMap shows what every slot does.
func (s *server) slotMap(context.Context, *nothing) (*jsonOf[api.SlotMapReply], error) {
	view := s.view.Load()
	if view == nil {
		return nil, s.standingBy()
	}
	return &jsonOf[api.SlotMapReply]{Body: slotmap.Of(view.AllHosts(), s.now().UTC())}, nil
}

// withTerm adds that the host obeys another database, which is why it hears nothing from this one.
func (s *server) withTerm(h api.Host) api.Host {
	if l := s.loop.Load(); l != nil {
		if remark := l.Watch.Remark(h.Name); remark != "" {
			h.Code, h.Remark = string(facts.ReasonOtherDatabase), remark
		}
	}
	return h
}

// HostParams is exported, as huma looks into embedded structures of exported names alone.
type HostParams struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name."`
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
}

type lockIn struct {
	HostParams
	Slots int  `query:"slots" minimum:"0" maximum:"4096" doc:"Lock so many of its slots, whatever was locked before; the others take items. 0: lock the whole host."`
	Purge bool `query:"purge" doc:"Stop the items that run on what is locked, secondary instances first; they run elsewhere and no retry is used."`
}

func (s *server) lockHost(ctx context.Context, in *lockIn) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), map[string]any{"locked": in.Slots == 0, "locked_slots": in.Slots, "purge": in.Purge})
	return asked(ctx, s, api.LockHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostLocked{Ticket: t, Host: facts.HostID(in.Host), Lock: true, Slots: in.Slots, Purge: in.Purge, By: by}
	})
}

type unlockIn struct {
	HostParams
	LockedBy string `query:"locked_by" maxLength:"255" doc:"Only if this user has locked it."`
}

func (s *server) unlockHost(ctx context.Context, in *unlockIn) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), map[string]bool{"locked": false})
	return asked(ctx, s, api.UnlockHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostLocked{Ticket: t, Host: facts.HostID(in.Host), By: by, LockedBy: in.LockedBy}
	})
}

func (s *server) confirmDead(ctx context.Context, in *HostParams) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), nil)
	return asked(ctx, s, api.ConfirmDead, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostConfirmedDead{Ticket: t, Host: facts.HostID(in.Host), By: by}
	})
}

type removeHostIn struct {
	HostParams
	Dead bool `query:"confirm_dead" doc:"Your word that nothing runs there any more; without it the items of a host that may still run some are given up when its execution lease is over."`
}

func (s *server) removeHost(ctx context.Context, in *removeHostIn) (*jsonOf[api.HostReply], error) {
	known := s.host(in.Host)
	if known == nil {
		if done, err := s.removePending(ctx, in.Host); done || err != nil {
			return &jsonOf[api.HostReply]{api.HostReply{Host: in.Host, Affected: 1}}, err
		}
	}
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), nil)
	// First the tokens: a worker that hears of the removal asks again at once, and would be a new host.
	if known != nil {
		if err := s.revokeHost(ctx, known.Key); err != nil {
			return nil, err
		}
	}
	defer s.gate.Tokens.Stale() // the host's are gone
	return asked(ctx, s, api.RemoveHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostRemoved{Ticket: t, Host: facts.HostID(in.Host), Dead: in.Dead, By: by}
	})
}

// revokeHost ends the tokens of a host that has enrolled.
func (s *server) revokeHost(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	defer s.gate.Tokens.Stale()
	return problem.Reading("revoking the host's tokens; remove it again", s.reader.RevokeHostTokens(ctx, key))
}

// host is a host as it was last shown, nil if it is not known.
func (s *server) host(name string) *message.HostView {
	for h := range s.picture().AllHosts() {
		if string(h.ID) == name {
			return h
		}
	}
	return nil
}

// hostMembers is what the audit trail tells of a host: as it was last shown, null if it is not known.
func (s *server) hostMembers(name string) any {
	h := s.host(name)
	if h == nil {
		return nil
	}
	return map[string]any{"state": h.State, "locked": h.LockedBy != "", "locked_slots": h.Locked, "slots": h.Slots, "instances": len(h.Instances), "machine": facts.Short(h.MachineID), "key": facts.Short(h.Key)}
}

// hostReply shows what became of a change of a host.
func hostReply(r message.HostReply) api.HostReply {
	return api.HostReply{Host: string(r.Host), Affected: r.Affected, Stopped: r.Stopped, Running: r.Running, Pending: r.Pending, WaitSeconds: int(math.Ceil(r.Wait.Seconds()))}
}

// upHosts are those that answer.
func (s *server) upHosts() (names []string) {
	for _, h := range s.picture().Hosts {
		if h.State == "up" || h.State == "locked" {
			names = append(names, string(h.ID))
		}
	}
	return names
}

func (s *server) ping(ctx context.Context, _ *nothing) (*jsonOf[api.Ping], error) {
	p, view := gate.PrincipalOf(ctx), s.picture()
	out := &jsonOf[api.Ping]{api.Ping{Version: s.version, Supervisor: s.name, User: p.User, Role: string(p.Role), Rights: p.Rights.Names(), DefaultRights: s.live.now.Load().UserRights().Names(), Now: s.now().UTC(), Limits: s.limits.Of(p.User, view.Owners[p.User])}}
	if l := s.loop.Load(); l != nil {
		out.Body.Leader, out.Body.Epoch = true, l.Epoch
	}
	out.Body.LeaderURL, out.Body.Trouble = s.leaderURL(), s.trouble()
	out.Body.Brake, out.Body.NoPlans, out.Body.Promise = view.Brake, view.NoPlans, s.otherPromise()
	out.Body.Audit = s.auditor.Last()
	if e := s.lastEnd(); e != nil {
		out.Body.LastEnd = &api.TermEnd{At: e.At.UTC(), Epoch: e.Epoch, Code: e.Code, Text: e.Text()}
	}
	for _, h := range view.Hosts {
		if h.State == "up" || h.State == "locked" {
			out.Body.Slots += h.Slots
			out.Body.Hosts++
		}
	}
	return out, nil
}

type createTokenIn struct{ Body api.TokenRequest }

// issue makes a token, or exchanges the one with the id from for it, once all others will know it.
func (s *server) issue(ctx context.Context, from string, want credentials.Request) (text string, t store.Token, err error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	if from == "" {
		text, t, err = credentials.Make(ctx, s.gate.Key, s.reader, want)
	} else {
		text, t, err = credentials.Exchange(ctx, s.gate.Key, s.reader, from, want)
	}
	if err == nil {
		s.gate.Tokens.Stale()
	}
	return text, t, err
}

// issued is the answer that has the only copy of a token.
func issued(text string, t store.Token, err error) (*jsonOf[api.TokenReply], error) {
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.TokenReply]{api.TokenReply{Token: text, TokenInfo: translate.Token(t)}}, nil
}

func (s *server) createToken(ctx context.Context, in *createTokenIn) (*jsonOf[api.TokenReply], error) {
	most := s.live.now.Load().TokenDays
	if in.Body.Days > most {
		return nil, problem.Invalid("days", "%d: use 1 to supervisor_token_days = %d", in.Body.Days, most)
	}
	life := time.Duration(in.Body.TTLSeconds) * time.Second
	if life < 0 || life > time.Duration(most)*settings.Day || life > 0 && in.Body.Days > 0 {
		return nil, problem.Invalid("ttl_seconds", "%d: use 1 to supervisor_token_days = %d days, without days", in.Body.TTLSeconds, most)
	}
	if err := s.mayMake(ctx, in.Body.User, api.Role(in.Body.Role)); err != nil {
		return nil, err
	}
	text, t, err := s.issue(ctx, "", credentials.Request{
		Life: life, Uses: in.Body.Uses,
		User: in.Body.User, Role: api.Role(in.Body.Role), Days: cmp.Or(in.Body.Days, min(settings.TokenDays, most)), Audit: audit.Of(ctx).Made,
	})
	if err == nil {
		s.log.Info("token created", "id", t.ID, "user", t.User, "role", t.Role, "by", gate.PrincipalOf(ctx).User)
	}
	return issued(pin.Join(text, s.fingerprint()), t, err)
}

func (s *server) listTokens(ctx context.Context, _ *nothing) (*jsonOf[[]api.TokenInfo], error) {
	tokens, err := s.reader.Tokens(ctx)
	return listed(tokens, problem.Reading("the tokens", err), translate.Token)
}

type tokenIn struct {
	Token string `path:"token" maxLength:"64" doc:"The token's id."`
}

func (s *server) revokeToken(ctx context.Context, in *tokenIn) (*jsonOf[api.RevokeReply], error) {
	old, _, err := s.reader.Token(ctx, in.Token)
	if err != nil {
		return nil, problem.Reading("the token", err)
	}
	change := audit.Change{Before: tokenMembers(old), After: map[string]bool{"revoked": true}}
	revoked, err := s.reader.RevokeToken(ctx, in.Token, audit.Of(ctx).Rows("token "+problem.ClipTo(in.Token, audit.MaxObject), change)...)
	if err != nil {
		return nil, problem.Reading("revoking a token", err)
	}
	if !revoked {
		return nil, api.Errorf(api.KindNotFound, "there is no valid token %q; qbadmin token list shows the ids", problem.Clip(in.Token))
	}
	s.gate.Tokens.Stale()
	s.log.Info("token revoked", "id", in.Token, "by", gate.PrincipalOf(ctx).User)
	return &jsonOf[api.RevokeReply]{api.RevokeReply{ID: in.Token, Revoked: true}}, nil
}
