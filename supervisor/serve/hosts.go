package serve

import (
	"context"
	"math"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/page"
	"qb/supervisor/why/explain"
	"qb/supervisor/wire/translate"
)

// hostService answers what is asked about hosts, and takes orders for them.
type hostService struct {
	*backend
}

func (s *hostService) register(rt *routes) {
	mount(rt, api.OrderOfHosts, few(s.turns.heavy, s.hostOrder))
	mount(rt, api.ListHosts, s.listHosts)
	mount(rt, api.GetHost, s.getHost)
	mount(rt, api.HostConfiguration, s.hostConfiguration)
	mount(rt, api.SlotMap, s.slotMap)
	mount(rt, api.LockHost, s.lockHost)
	mount(rt, api.UnlockHost, s.unlockHost)
	mount(rt, api.ApproveHost, bounded(s.approveHost))
	mount(rt, api.RestartHost, led(s.backend, s.restartHost))
	mount(rt, api.ConfirmDead, s.confirmDead)
	mount(rt, api.RemoveHost, led(s.backend, s.removeHost))
}

type getHostIn struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name."`
}

// getHost shows one of them.
func (s *hostService) getHost(_ context.Context, in *getHostIn) (*jsonOf[api.Host], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	if h := s.host(in.Host); h != nil {
		return &jsonOf[api.Host]{Body: translate.Host(s.withTerm(h))}, nil
	}
	for _, h := range s.pendingHosts() {
		if string(h.ID) == in.Host {
			return &jsonOf[api.Host]{Body: translate.Host(h)}, nil
		}
	}
	return nil, api.Errorf(api.KindNotFound, "there is no host %q", problem.Clip(in.Host))
}

// hostConfiguration shows a worker's settings, as it reported them, and where each comes from.
func (s *hostService) hostConfiguration(_ context.Context, in *getHostIn) (*jsonOf[api.HostSettings], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	if h := s.host(in.Host); h != nil {
		if show, known := s.central.Show(s.now(), in.Host, h.Incarnation); known {
			return &jsonOf[api.HostSettings]{Body: show}, nil
		}
	}
	return nil, unheard(in.Host)
}

func unheard(host string) error {
	return api.Errorf(api.KindNotFound, "there is no host %q that has reported its settings to this supervisor",
		problem.Clip(host))
}

// restartHost has a worker start again. Whether it did is for the host's configuration to tell.
func (s *hostService) restartHost(ctx context.Context, in *getHostIn) (*jsonOf[api.RestartReply], error) {
	if s.host(in.Host) == nil {
		return nil, unheard(in.Host)
	}
	reply, known := s.central.Restart(s.now(), in.Host)
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
func (s *hostService) slotMap(context.Context, *nothing) (*jsonOf[api.SlotMapReply], error) {
	view := s.view.Load()
	if view == nil {
		return nil, s.standingBy()
	}
	return &jsonOf[api.SlotMapReply]{Body: page.SlotMap(view.AllHosts(), s.now().UTC())}, nil
}

// withTerm adds that the host obeys another database, which is why it hears nothing from this one.
func (s *hostService) withTerm(h *message.HostView) *message.HostView {
	l := s.loop.Load()
	if l == nil {
		return h
	}
	remark := l.Watch.Remark(string(h.ID))
	if remark == "" {
		return h
	}
	other := *h
	other.Code = facts.ReasonOtherDatabase
	other.Remark = remark
	return &other
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

func (s *hostService) lockHost(ctx context.Context, in *lockIn) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), map[string]any{"locked": in.Slots == 0, "locked_slots": in.Slots,
		"purge": in.Purge})
	return asked(ctx, s.backend, api.LockHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostLocked{Ticket: t, Host: facts.HostID(in.Host), Lock: true, Slots: in.Slots,
			Purge: in.Purge, By: by}
	})
}

type unlockIn struct {
	HostParams
	LockedBy string `query:"locked_by" maxLength:"255" doc:"Only if this user has locked it."`
}

func (s *hostService) unlockHost(ctx context.Context, in *unlockIn) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), map[string]bool{"locked": false})
	return asked(ctx, s.backend, api.UnlockHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostLocked{Ticket: t, Host: facts.HostID(in.Host), By: by, LockedBy: in.LockedBy}
	})
}

func (s *hostService) confirmDead(ctx context.Context, in *HostParams) (*jsonOf[api.HostReply], error) {
	audit.Of(ctx).Changes("", s.hostMembers(in.Host), nil)
	return asked(ctx, s.backend, api.ConfirmDead, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostConfirmedDead{Ticket: t, Host: facts.HostID(in.Host), By: by}
	})
}

type removeHostIn struct {
	HostParams
	Dead bool `query:"confirm_dead" doc:"Confirm that nothing runs there any more. Otherwise the items of a host that may still run some are given up when its execution lease is over."`
}

func (s *hostService) removeHost(ctx context.Context, in *removeHostIn) (*jsonOf[api.HostReply], error) {
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
	return asked(ctx, s.backend, api.RemoveHost, in.Key, in, hostReply, func(t outbox.Ticket, by string) message.Event {
		return message.HostRemoved{Ticket: t, Host: facts.HostID(in.Host), Dead: in.Dead, By: by}
	})
}

// revokeHost ends the tokens of a host that has enrolled.
func (s *hostService) revokeHost(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	defer s.gate.Tokens.Stale()
	return problem.Reading("revoking the host's tokens; remove it again", s.reader.RevokeHostTokens(ctx, key))
}

// hostMembers is what the audit trail tells of a host: as it was last shown, null if it is not known.
func (s *hostService) hostMembers(name string) any {
	h := s.host(name)
	if h == nil {
		return nil
	}
	return map[string]any{"state": h.State, "locked": h.LockedBy != "", "locked_slots": h.Locked, "slots": h.Slots,
		"instances": len(h.Instances), "machine": facts.Short(h.MachineID), "key": facts.Short(h.Key)}
}

// hostReply shows what became of a change of a host.
func hostReply(r message.HostReply) api.HostReply {
	return api.HostReply{Host: string(r.Host), Affected: r.Affected, Stopped: r.Stopped, Running: r.Running,
		Pending: r.Pending, WaitSeconds: int(math.Ceil(r.Wait.Seconds()))}
}

// upHosts returns the names of the hosts that are up.
func (s *hostService) upHosts() (names []string) {
	for _, h := range s.picture().Hosts {
		if h.State == "up" || h.State == "locked" {
			names = append(names, string(h.ID))
		}
	}
	return names
}

// hostOrder are the hosts for a job's waiting items.
func (s *hostService) hostOrder(ctx context.Context, in *jobIn) (*jsonOf[[]api.HostPlacement], error) {
	var found bool
	placings, err := look(ctx, s.backend, func(m term.Machine, now time.Time) (list []explain.Placement) {
		list, found = m.HostsFor(now, facts.JobID(in.Job))
		return list
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, api.Errorf(api.KindNotFound, "there is no unfinished job %d", in.Job)
	}
	turns := make([]api.HostPlacement, 0, len(placings))
	for _, p := range placings {
		t := api.HostPlacement{Host: string(p.Host), Code: string(p.Why.Reason), Reason: p.Why.Cause}
		if t.Code == "" {
			t.Place = len(turns) + 1
		}
		turns = append(turns, t)
	}
	return &jsonOf[[]api.HostPlacement]{Body: turns}, nil
}
