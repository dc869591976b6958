package serve

import (
	"cmp"
	"context"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/selfaudit"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/store/mail"
	"qb/supervisor/wire/translate"
)

func (s *adminService) ping(ctx context.Context, _ *nothing) (*jsonOf[api.Ping], error) {
	p, view := gate.PrincipalOf(ctx), s.picture()
	out := &jsonOf[api.Ping]{api.Ping{Version: s.version, Supervisor: s.name, User: p.User, Role: string(p.Role),
		Rights: p.Rights.Names(), DefaultRights: s.live.now.Load().UserRights().Names(), Now: s.now().UTC(),
		Limits: s.limits.Of(p.User, view.Owners[p.User])}}
	if l := s.loop.Load(); l != nil {
		out.Body.Leader, out.Body.Epoch = true, l.Epoch
	}
	out.Body.LagSeconds = s.lag().Seconds()
	out.Body.LeaderURL, out.Body.Trouble = s.leaderURL(), s.trouble()
	out.Body.Brake = view.Brake
	out.Body.NoPlans = view.NoPlans
	out.Body.Promise = s.otherPromise()
	out.Body.Audit = s.auditor.Last()
	for _, d := range s.doors {
		out.Body.Doors = append(out.Body.Doors, d.Said())
	}
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

// snapshot shows the live farm in the form that qb plan reads.
func (s *adminService) snapshot(ctx context.Context, _ *nothing) (*jsonOf[api.SnapshotDoc], error) {
	snap, err := look(ctx, s.backend, term.Machine.Snapshot)
	if err != nil {
		return nil, err
	}
	return &jsonOf[api.SnapshotDoc]{translate.Snapshot(snap)}, nil
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
func (s *adminService) farmHistory(ctx context.Context, in *farmHistoryIn) (*jsonOf[api.HistoryReply], error) {
	rows, next, err := s.reader.FarmHistory(ctx, store.EventQuery{User: in.User, Host: in.Host, Type: in.Type, Job: in.Job,
		Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, problem.Reading("the history of the farm", err)
	}
	reply := api.HistoryReply{Events: make([]api.Event, 0, len(rows)), Next: next}
	for _, row := range rows {
		by := row.By
		row.Params.By, row.By = cmp.Or(row.Params.By, by), "" // the user has a member of its own in the event
		e := translate.Event(row, func(n facts.ItemNo) string { return s.itemName(row.Job, n) })
		e.User = by
		reply.Events = append(reply.Events, e)
	}
	return &jsonOf[api.HistoryReply]{Body: reply}, nil
}

// adminService answers what concerns the farm as a whole: configuration, audit trail, statistics, profiles, resources.
type adminService struct {
	*backend
	mail    *mail.Sender
	auditor *selfaudit.Auditor // of what the workers recorded
}

func (s *adminService) register(rt *routes) {
	mount(rt, api.FarmHistory, few(s.turns.heavy, s.farmHistory))
	mount(rt, api.ReleaseBrake, s.releaseBrake)
	mount(rt, api.SupervisorConfiguration, s.supervisorConfiguration)
	mount(rt, api.Reread, s.reread)
	mount(rt, api.TestMail, led(s.backend, s.testMail))
	mount(rt, api.GetSnapshot, few(s.turns.heavy, s.snapshot))
	mount(rt, api.PingFarm, s.ping)
	mount(rt, api.AuditLog, few(s.turns.heavy, s.auditLog))
	mount(rt, api.GetStats, few(s.turns.heavy, s.stats))
	mount(rt, api.ListProfiles, s.listProfiles)
	mount(rt, api.SetProfile, s.setProfile)
	mount(rt, api.ForgetProfile, s.forgetProfile)
	mount(rt, api.ListResources, s.listResources)
	mount(rt, api.ReportResource, s.reportResource)
}
