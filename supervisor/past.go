package supervisor

import (
	"cmp"
	"context"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/logsearch"
	"qb/supervisor/problem"
	"qb/supervisor/store"
	"qb/supervisor/timeline"
	"qb/supervisor/translate"
)

// searchFor is the time of one search in a log; the answer says where to go on.
const searchFor = 2 * time.Second

// pastShare tells who had how many instances over time.
func (s *server) pastShare(_ context.Context, in *struct{ api.TimelineQuery }) (*jsonOf[api.TimelineReply], error) {
	if s.view.Load() == nil {
		return nil, s.standingBy()
	}
	q := timeline.Query{From: in.From, To: in.To, Step: time.Duration(in.Step) * time.Second, By: in.By}
	if fault := q.Settle(s.now()); fault != "" {
		return nil, api.Errorf(api.KindInvalid, "%s", fault)
	}
	return &jsonOf[api.TimelineReply]{Body: s.timeline.Of(q)}, nil
}

type farmHistoryIn struct {
	User   string `query:"user" maxLength:"255" doc:"Only what this user did."`
	Host   string `query:"host" maxLength:"255" doc:"Only of this host."`
	Type   string `query:"type" maxLength:"64" doc:"Only events of this type, see docs/events.md."`
	Job    int64  `query:"job" minimum:"0" doc:"Only of this job; 0: of all, and of hosts."`
	Before int64  `query:"before" minimum:"0" doc:"What is older than this place: next of the page before; 0: the newest."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// farmHistory lists what was done on the farm. What items did is in the histories of their jobs.
func (s *server) farmHistory(ctx context.Context, in *farmHistoryIn) (*jsonOf[api.HistoryReply], error) {
	rows, next, err := s.reader.FarmHistory(ctx, store.EventQuery{User: in.User, Host: in.Host, Type: in.Type, Job: in.Job, Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, problem.Reading("the history of the farm", err)
	}
	reply := api.HistoryReply{Events: make([]api.Event, 0, len(rows)), Next: next}
	for _, row := range rows {
		by := row.By
		row.Params.By, row.By = cmp.Or(row.Params.By, by), "" // it is told beside the sentence
		e := translate.Event(row, func(n facts.ItemNo) string { return s.itemName(row.Job, n) })
		e.User = by
		reply.Events = append(reply.Events, e)
	}
	return &jsonOf[api.HistoryReply]{Body: reply}, nil
}

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
func (s *server) findInLog(ctx context.Context, in *findInLogIn) (*jsonOf[api.LogMatches], error) {
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
	found, err := logsearch.Search(ctx, f, logsearch.Query{Want: streams[in.Stream], Text: in.Text, From: in.Offset, Most: in.Limit, Time: searchFor})
	return &jsonOf[api.LogMatches]{Body: found}, err
}
