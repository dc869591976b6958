package supervisor

import (
	"context"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
	"qb/supervisor/translate"
	"qb/supervisor/whatif"
)

type snapshotOut struct{ Body api.SnapshotDoc }

// snapshot shows the live farm in the form that qb plan reads.
func (s *server) snapshot(ctx context.Context, _ *nothing) (*snapshotOut, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	var snap planner.Snapshot
	if err := l.Look(ctx, lookSnapshot(&snap)); err != nil {
		return nil, err
	}
	return &snapshotOut{translate.Snapshot(snap)}, nil
}

type whatIfOut struct{ Body api.WhatIfReply }

// whatIf tries a change on a copy of the live farm.
func (s *server) whatIf(ctx context.Context, in *struct{ api.WhatIfQuery }) (*whatIfOut, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	find := func(id facts.JobID) (facts.JobView, error) { return s.job(ctx, id) }
	look := func(to *planner.Snapshot) error { return l.Look(ctx, lookSnapshot(to)) }
	reply, err := s.trials.Try(ctx, &in.WhatIfQuery, whatif.Farm{Find: find, Look: look, View: s.lastView()})
	if err != nil {
		return nil, err
	}
	reply.Epoch = l.Epoch
	return &whatIfOut{reply}, nil
}
