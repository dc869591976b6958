package supervisor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
	"qb/supervisor/planner"
	"qb/supervisor/term"
	"qb/supervisor/translate"
	"qb/supervisor/whatif"
)

// checkSubmission says what submit would say to the same body. Nothing is stored, and nothing is taken from the owner's
// allowance of submissions: checks have one of their own.
func (s *server) checkSubmission(ctx context.Context, in *struct{ Body api.SubmitRequest }) (*jsonOf[api.SubmissionCheck], error) {
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := s.gate.MayOn(ctx, api.CheckSubmission, owner); err != nil {
		return nil, err
	}
	if err := s.limits.Check(p.User); err != nil {
		return nil, err
	}
	out := &jsonOf[api.SubmissionCheck]{Body: api.SubmissionCheck{Refusals: []api.SubmissionRefusal{}, Remarks: []string{}}}
	e, err := s.supposed(ctx, &in.Body, owner)
	if err == nil {
		var remarks []string
		remarks, err = s.judged(ctx, e)
		out.Body.Remarks = translate.OrEmpty(remarks)
	}
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
		out.Body.Items = itemsShown(a, spec.Order)
	}
	return out, nil
}

// trySubmission tries a submission on a copy of the live farm. One that would be refused is refused here.
func (s *server) trySubmission(ctx context.Context, in *struct{ Body api.SubmitRequest }) (*jsonOf[api.TrialReply], error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := cmp.Or(s.gate.MayOn(ctx, api.TrySubmission, owner), s.limits.Check(p.User)); err != nil {
		return nil, err
	}
	e, err := s.supposed(ctx, &in.Body, owner)
	if err != nil {
		return nil, err
	}
	look := func(to *planner.Snapshot) (supposed message.Supposed, err error) {
		var refusal *outbox.Refusal
		err = l.Look(ctx, func(m term.Machine, now time.Time) { *to, supposed, refusal = m.SnapshotWith(now, e) })
		if err == nil && refusal != nil {
			err = term.ErrorOf(refusal)
		}
		return supposed, err
	}
	explain := func() (why facts.Why, err error) {
		return why, l.Look(ctx, func(m term.Machine, now time.Time) { why = m.ExplainSubmission(now, e) })
	}
	reply, err := s.trials.TrySubmission(ctx, whatif.Submission{Look: look, Explain: explain, View: s.lastView()})
	if err != nil {
		return nil, err
	}
	reply.Epoch = l.Epoch
	return &jsonOf[api.TrialReply]{Body: reply}, nil
}

// judged is the farm's word on a submission: remarks, and its refusal as an error.
func (s *server) judged(ctx context.Context, e message.JobSubmitted) ([]string, error) {
	type word struct {
		remarks []string
		refusal *outbox.Refusal
	}
	w, err := look(ctx, s, func(m term.Machine, now time.Time) (w word) {
		w.remarks, w.refusal = m.CheckSubmission(now, e)
		return w
	})
	if err == nil && w.refusal != nil {
		err = term.ErrorOf(w.refusal)
	}
	return w.remarks, err
}

// supposed goes the way of submit up to the farm's word, taking nothing from the owner's allowances. With an error it has what was
// read before.
func (s *server) supposed(ctx context.Context, r *api.SubmitRequest, owner string) (message.JobSubmitted, error) {
	row, err := s.readSubmission(ctx, r, owner, "")
	if err == nil {
		_, err = s.divided(ctx, row)
	}
	if err == nil {
		err = s.limits.MaySubmit(owner, int(row.Bytes()))
	}
	if err != nil {
		return message.JobSubmitted{Facts: row}, err
	}
	e, err := s.submission(ctx, row, r.Status == "blocked")
	if err == nil {
		err = s.complete(ctx, &e)
	}
	if err == nil {
		err = s.limits.MayStore(ctx, owner, row.Stored())
	}
	return e, err
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

// Of so many items all are named, of more the first and the last ones.
const (
	namedAll   = 5
	namedFirst = 3
)

func itemsShown(a *agenda.Agenda, order agenda.Order) *api.SubmissionItems {
	shown := &api.SubmissionItems{Count: a.Len(), Order: cmp.Or(string(order), "ascend"), First: []string{}, Last: []string{}}
	first, last := a.Len(), a.Len()
	if first > namedAll {
		first, last = namedFirst, a.Len()-(namedAll-namedFirst)
	}
	for n := range first {
		shown.First = append(shown.First, a.Item(n).Name)
	}
	for n := last; n < a.Len(); n++ {
		shown.Last = append(shown.Last, a.Item(n).Name)
	}
	return shown
}
