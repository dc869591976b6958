package serve

import (
	"context"
	"time"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/page/whatif"
	"qb/supervisor/share/planner"
	"qb/supervisor/why/explain"
)

// whatIf tries a change on a copy of the live farm.
func (s *jobService) whatIf(ctx context.Context, in *struct{ api.WhatIfQuery }) (*jsonOf[api.WhatIfReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	find := func(id facts.JobID) (facts.JobView, error) { return s.job(ctx, id) }
	look := func(to *planner.Snapshot) error {
		return l.Look(ctx, func(m term.Machine, now time.Time) { *to = m.Snapshot(now) })
	}
	reply, err := s.trials.Try(ctx, &in.WhatIfQuery, whatif.Farm{Operator: gate.PrincipalOf(ctx).SeesAll(), Find: find,
		Look: look, View: s.lastView()})
	if err != nil {
		return nil, err
	}
	reply.Epoch = l.Epoch
	return &jsonOf[api.WhatIfReply]{reply}, nil
}

// jobOrder is the order in which jobs' waiting items would go to a host.
func (s *jobService) jobOrder(ctx context.Context, in *hostNamed) (*jsonOf[[]api.JobPlacement], error) {
	var snap planner.Snapshot
	var found bool
	placings, err := look(ctx, s.backend, func(m term.Machine, now time.Time) (list []explain.Placement) {
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
	return &jsonOf[[]api.JobPlacement]{Body: turns}, err
}

type hostNamed struct {
	Host string `path:"host" maxLength:"255" doc:"The host's name."`
}
