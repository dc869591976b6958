package supervisor

import (
	"context"
	"time"

	"qb/api"
	"qb/supervisor/explain"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/planner"
	"qb/supervisor/problem"
	"qb/supervisor/term"
	"qb/supervisor/translate"
	"qb/supervisor/whatif"
)

// snapshot shows the live farm in the form that qb plan reads.
func (s *server) snapshot(ctx context.Context, _ *nothing) (*jsonOf[api.SnapshotDoc], error) {
	snap, err := look(ctx, s, term.Machine.Snapshot)
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.SnapshotDoc]{translate.Snapshot(snap)}, nil
}

// whatIf tries a change on a copy of the live farm.
func (s *server) whatIf(ctx context.Context, in *struct{ api.WhatIfQuery }) (*jsonOf[api.WhatIfReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	find := func(id facts.JobID) (facts.JobView, error) { return s.job(ctx, id) }
	look := func(to *planner.Snapshot) error {
		return l.Look(ctx, func(m term.Machine, now time.Time) { *to = m.Snapshot(now) })
	}
	reply, err := s.trials.Try(ctx, &in.WhatIfQuery, whatif.Farm{Operator: gate.PrincipalOf(ctx).SeesAll(), Find: find, Look: look, View: s.lastView()})
	if err != nil {
		return nil, err
	}
	reply.Epoch = l.Epoch
	return &jsonOf[api.WhatIfReply]{reply}, nil
}

// jobOrder is the order in which jobs' waiting items would go to a host.
func (s *server) jobOrder(ctx context.Context, in *hostNamed) (*jsonOf[[]api.JobTurn], error) {
	var snap planner.Snapshot
	var found bool
	placings, err := look(ctx, s, func(m term.Machine, now time.Time) (list []explain.Placing) {
		if list, found = m.PlacingsOn(now, facts.HostID(in.Host)); found {
			snap = m.Snapshot(now)
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, api.Errorf(api.KindNotFound, "there is no host %q", problem.Clip(in.Host))
	}
	turns, err := s.trials.Order(ctx, snap, placings, s.lastView())
	return &jsonOf[[]api.JobTurn]{Body: turns}, err
}

type hostNamed struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name."`
}

// hostOrder are the hosts for a job's waiting items.
func (s *server) hostOrder(ctx context.Context, in *jobIn) (*jsonOf[[]api.HostTurn], error) {
	var found bool
	placings, err := look(ctx, s, func(m term.Machine, now time.Time) (list []explain.Placing) {
		list, found = m.HostsFor(now, facts.JobID(in.Job))
		return list
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, api.Errorf(api.KindNotFound, "there is no unfinished job %d", in.Job)
	}
	turns := make([]api.HostTurn, 0, len(placings))
	for _, p := range placings {
		t := api.HostTurn{Host: string(p.Host), Code: string(p.Why.Reason), Reason: p.Why.Cause}
		if t.Code == "" {
			t.Place = len(turns) + 1
		}
		turns = append(turns, t)
	}
	return &jsonOf[[]api.HostTurn]{Body: turns}, nil
}
