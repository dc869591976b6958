package serve

import (
	"context"
	"time"

	"qb/api"
	"qb/supervisor/page"
)

// pastShare tells who had how many instances over time.
func (s *shareService) pastShare(_ context.Context,
	in *struct{ api.TimelineQuery }) (*jsonOf[api.TimelineReply], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	q := page.TimelineQuery{From: in.From, To: in.To, Step: time.Duration(in.Step) * time.Second, By: in.By}
	if fault := q.Complete(s.now()); fault != "" {
		return nil, api.Errorf(api.KindInvalid, "%s", fault)
	}
	return &jsonOf[api.TimelineReply]{Body: s.timeline.Of(q)}, nil
}
