package serve

import (
	"context"
	"time"

	"qb/api"
	"qb/supervisor/page"
)

// searchFor is the time of one search in a log; the answer says where to go on.
const searchFor = 2 * time.Second

type findInLogIn struct {
	Job     int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item    string `path:"item" maxLength:"1024" doc:"The item's name."`
	Text    string `query:"text" required:"true" minLength:"1" maxLength:"200" doc:"What the lines must have, in this case."`
	Stream  string `query:"stream" enum:"stdout,stderr,both" default:"both"`
	Attempt int    `query:"attempt" minimum:"0" doc:"0: the latest."`
	Offset  int64  `query:"offset" minimum:"0" doc:"Byte of the stream from which to search: next of the answer before."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Lines at most."`
}

// findInLog searches an attempt's output.
func (s *itemService) findInLog(ctx context.Context, in *findInLogIn) (*jsonOf[api.LogMatches], error) {
	o, err := s.outputOf(ctx, in.Job, in.Item, in.Attempt, false)
	if err != nil {
		return nil, err
	}
	leave, err := inTurn(s.turns.searches)(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	f, err := s.logs.Read(o.id)
	if f == nil && err == nil {
		return &jsonOf[api.LogMatches]{Body: api.LogMatches{Matches: []api.LogMatch{}, Complete: true}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := page.SearchLog(ctx, f, page.LogQuery{Want: streams[in.Stream], Text: in.Text, From: in.Offset,
		Most: in.Limit, Time: searchFor})
	return &jsonOf[api.LogMatches]{Body: found}, err
}
