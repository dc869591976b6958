package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/term"
	"qb/supervisor/page/whatif"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// checkSubmission says what submit would say to the same body. Nothing is stored, and nothing is taken from the owner's
// allowance of submissions: checks have one of their own.
func (s *jobService) checkSubmission(ctx context.Context,
	in *struct{ Body api.SubmitRequest }) (*jsonOf[api.SubmissionCheck], error) {
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := s.gate.MayOn(ctx, api.CheckSubmission, owner); err != nil {
		return nil, err
	}
	if err := s.limits.Check(p.User); err != nil {
		return nil, err
	}
	out := &jsonOf[api.SubmissionCheck]{Body: api.SubmissionCheck{Refusals: []api.SubmissionRefusal{},
		Remarks: []string{}}}
	e, jobs, remarks, err := s.supposed(ctx, &in.Body, owner)
	for n := 0; err == nil && n < len(jobs); n++ {
		var more []string
		more, err = s.judged(ctx, jobs[n])
		remarks = translate.Adding(remarks, more)
	}
	out.Body.Remarks = translate.OrEmpty(remarks)
	spec, a := e.Facts.Agenda, e.Agenda
	if err := refuse(&out.Body, err); err != nil {
		return nil, err
	}
	if a == nil { // the range is shown whatever else is refused
		if spec, err = translate.Agenda(&in.Body); err == nil {
			a, err = s.readAgenda(ctx, spec)
		}
		if err := refuse(&out.Body, err); err != nil {
			return nil, err
		}
	}
	if a != nil {
		out.Body.Items = translate.ItemsOf(a, spec.Order)
	}
	return out, nil
}

// trySubmission tries a submission on a copy of the live farm. It returns the same errors as a real submission.
func (s *jobService) trySubmission(ctx context.Context,
	in *struct{ Body api.SubmitRequest }) (*jsonOf[api.TrialReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := cmp.Or(s.gate.MayOn(ctx, api.TrySubmission, owner), s.limits.Check(p.User)); err != nil {
		return nil, err
	}
	_, jobs, remarks, err := s.supposed(ctx, &in.Body, owner)
	if err != nil {
		return nil, err
	}
	look := func(to *planner.Snapshot) (supposed message.TrialReply, err error) {
		var refusal *outbox.Refusal
		err = l.Look(ctx, func(m term.Machine, now time.Time) { *to, supposed, refusal = m.SnapshotWith(now, jobs) })
		supposed.Remarks = translate.Adding(remarks, supposed.Remarks)
		if err == nil && refusal != nil {
			err = term.ErrorOf(refusal)
		}
		return supposed, err
	}
	explain := func() (why facts.Why, err error) {
		return why, l.Look(ctx, func(m term.Machine, now time.Time) { why = m.ExplainSubmission(now, jobs[len(jobs)-1]) })
	}
	reply, err := s.trials.TrySubmission(ctx, whatif.Submission{Look: look, Explain: explain, View: s.lastView()})
	if err != nil {
		return nil, err
	}
	reply.Epoch = l.Epoch
	return &jsonOf[api.TrialReply]{Body: reply}, nil
}

// judged has the farm check a submission. It returns the remarks, and a refusal as an error.
func (s *jobService) judged(ctx context.Context, e message.JobSubmitted) ([]string, error) {
	type word struct {
		remarks []string
		refusal *outbox.Refusal
	}
	w, err := look(ctx, s.backend, func(m term.Machine, now time.Time) (w word) {
		w.remarks, w.refusal = m.CheckSubmission(now, e)
		return w
	})
	if err == nil && w.refusal != nil {
		err = term.ErrorOf(w.refusal)
	}
	return w.remarks, err
}

// supposed does the steps of submit that come before the farm, and takes nothing from the owner's allowances. It
// returns the undivided submission, the jobs that it becomes, and the remarks so far. With an error it returns what was
// read before.
func (s *jobService) supposed(ctx context.Context, r *api.SubmitRequest,
	owner string) (e message.JobSubmitted, jobs []message.JobSubmitted, remarks []string, err error) {
	row, err := s.readSubmission(ctx, r, owner, "")
	rows := []facts.JobFacts(nil)
	if e.Facts = row; err == nil {
		rows, remarks, err = s.divided(ctx, row)
	}
	if err == nil {
		err = s.limits.MaySubmit(owner, int(row.Bytes()))
	}
	if err != nil {
		return e, nil, remarks, err
	}
	e, err = s.submission(ctx, row, r.Status == "blocked")
	if err == nil {
		err = s.complete(ctx, &e)
	}
	if err == nil {
		err = s.limits.MayStore(ctx, owner, row.Stored())
	}
	for n := 0; err == nil && n < len(rows); n++ {
		one := e
		if one.Facts = rows[n]; one.Facts.Agenda != row.Agenda {
			one.Agenda, err = s.readAgenda(ctx, one.Facts.Agenda)
		}
		jobs = append(jobs, one)
	}
	return e, jobs, remarks, err
}

// refuse takes up an error that submit would answer because of what was submitted; any other one is given back.
func refuse(to *api.SubmissionCheck, err error) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Kind == api.KindUnavailable {
		return err
	}
	refusal := api.SubmissionRefusal{Kind: e.Kind, Limit: e.Limit, Message: e.Text, Member: e.Member}
	if !slices.Contains(to.Refusals, refusal) {
		to.Refusals = append(to.Refusals, refusal)
	}
	return nil
}
