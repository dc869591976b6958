package serve

import (
	"context"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/licences"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/translate"
)

func (s *adminService) listResources(ctx context.Context, _ *nothing) (*jsonOf[[]api.Resource], error) {
	list, err := looked(ctx, s.backend, term.Machine.Resources)
	return listed(list, err, translate.Resource)
}

type reportResourceIn struct {
	Resource string `path:"resource" maxLength:"80" doc:"The resource's name, such as license.nuke."`
	Key      string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body     api.ResourceReport
}

func (s *adminService) reportResource(ctx context.Context, in *reportResourceIn) (*jsonOf[api.Resource], error) {
	report := licences.Report{Name: in.Resource, Total: in.Body.Total, Outside: in.Body.Outside, Forget: in.Body.Forget}
	if report.Total == nil && report.Outside == nil && !report.Forget {
		return nil, api.Errorf(api.KindInvalid, "give total, used_outside, or both; or forget")
	}
	if report.Forget && (report.Total != nil || report.Outside != nil) {
		return nil, api.Errorf(api.KindInvalid, "forget: give it alone")
	}
	list, err := looked(ctx, s.backend, term.Machine.Resources)
	if err != nil {
		return nil, err
	}
	before := before(list, translate.Resource, func(r licences.Status) bool { return r.Name == in.Resource })
	audit.Of(ctx).Changes("resource "+in.Resource, before, in.Body)
	return asked(ctx, s.backend, api.ReportResource, in.Key, in, translate.Resource,
		func(t outbox.Ticket, by string) message.Event {
			return message.ResourceReported{Ticket: t, By: by, Report: report}
		})
}
