package supervisor

import (
	"context"

	"qb/api"
	"qb/supervisor/planner"
	"qb/supervisor/translate"
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
