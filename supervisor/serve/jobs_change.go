package serve

import (
	"cmp"
	"context"
	"slices"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/translate"
)

type modifyIn struct {
	Job     int64  `path:"job" minimum:"1" doc:"The job's id."`
	IfMatch string `header:"If-Match" maxLength:"40" doc:"Only if the job's version is still this one."`
	Key     string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body    api.ModifyRequest
}

type modifyOut struct {
	ETag string `header:"ETag" doc:"The job's new version."`
	Body api.SubmitReply
}

func (s *jobService) modify(ctx context.Context, in *modifyIn) (*modifyOut, error) {
	p, id := gate.PrincipalOf(ctx), facts.JobID(in.Job)
	version, err := translate.ReadIfMatch(in.IfMatch)
	if err != nil {
		return nil, err
	}
	v, err := s.job(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.gate.MayModify(ctx, gate.JobOf(v.JobFacts), translate.Given(&in.Body)); err != nil {
		return nil, err
	}
	change, err := translate.Modification(id, &in.Body, p.User, version)
	if err := cmp.Or(err, s.checkPriority(p, in.Body.Priority)); err != nil {
		return nil, err
	}
	if err := s.limits.Change(p.User, int(change.Bytes())); err != nil {
		return nil, err
	}
	change.Operator = p.SeesAll()
	audit.Of(ctx).On("", audit.BeforeAndAfter(translate.Job(v, p.Sees(v.User)), in.Body))
	shape := func(body any) *modifyOut {
		reply := body.(message.JobReply)
		return &modifyOut{ETag: etag(reply.Job.Version), Body: replyOf(reply)}
	}
	return once(ctx, s.backend, api.Modify, in.Key, in, shape, func(c term.Call) (any, error) {
		if err := s.checkGroup(ctx, v.User, id, change.Change.Values.PGrp); err != nil {
			return nil, err
		}
		if change.Change.Has("pgrp") && v.Label != "" {
			named, err := s.linked(ctx, "", cmp.Or(change.Change.Values.PGrp, id), v.Label)
			if err != nil {
				return nil, err
			}
			change.LabelHas = named.labels[v.Label]
		}
		written, err := s.limits.Store(ctx, v.User, change.Bytes())
		if err != nil {
			return nil, err
		}
		defer written()
		if change.Change.Has("account") {
			if change.Groups, err = s.groupsOf(ctx, v.User, s.users.Of(ctx, v.User)); err != nil {
				return nil, err
			}
		}
		return c.Ask(ctx, func(t outbox.Ticket) message.Event {
			change.Ticket = t
			return change
		})
	})
}

// checkGroup refuses a process group whose leader is neither a job of the same owner nor a job that the caller may
// change. A group has the id of the job that began it; 0, or the job's own id, means a group of its own.
func (s *jobService) checkGroup(ctx context.Context, owner string, job, group facts.JobID) error {
	if group == 0 || group == job {
		return nil
	}
	first, err := s.named(ctx, "pgrp", group)
	if err != nil {
		return err
	}
	if first.PGrp != group {
		return problem.Invalid("pgrp", "job %d is itself in the process group %d; give that, or 0 for a group of its own",
			group, first.PGrp)
	}
	if first.User != owner && s.gate.MayJob(ctx, api.Modify, "", gate.JobOf(first)) != nil {
		return api.Errorf(api.KindForbidden,
			"pgrp: job %d belongs to %s, and %s may not change it; write the id of a job of %s, 0 for a group of its own, or ask an operator",
			group, first.User, gate.PrincipalOf(ctx).User, owner)
	}
	return nil
}

type orderIn struct {
	Job     int64              `path:"job" minimum:"1" doc:"The job's id."`
	Action  string             `path:"action" enum:"kill,retry,requeue,redo,block,unblock,interrupt,preempt,shove,suspend,resume,migrate,retire,top,bottom,complete,fail"`
	IfMatch string             `header:"If-Match" maxLength:"40" doc:"Only if the job's version is still this one; its end by itself is no change."`
	Key     string             `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body    *api.ActionRequest `doc:"Absent: the whole job."`
}

const maxNamed = 64 << 10 // bytes of the items in an answer, which is kept with its key

func (s *jobService) order(ctx context.Context, in *orderIn) (*jsonOf[api.ActionReply], error) {
	p, id := gate.PrincipalOf(ctx), facts.JobID(in.Job)
	v, err := s.facts(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.gate.MayJob(ctx, api.OrderJob, in.Action, gate.JobOf(v)); err != nil {
		return nil, err
	}
	if err := s.limits.Change(p.User, len(translate.ChoiceText(in.Body))); err != nil {
		return nil, err
	}
	e := message.JobAction{Job: id, Action: facts.Action(in.Action), By: p.User, Everybody: p.SeesAll()}
	if e.IfVersion, err = translate.ReadIfMatch(in.IfMatch); err != nil {
		return nil, err
	}
	if e.Action, e.Choice, err = translate.Choice(e.Action, in.Body); err != nil {
		return nil, err
	}
	if in.Body != nil && in.Body.Items != "" {
		if e.Items, err = s.selected(ctx, v, in.Body.Items); err != nil {
			return nil, err
		}
	}
	if translate.ChoosesByEnd(in.Body) {
		if e.Items, err = s.endedSo(ctx, v, e, in.Body); err != nil {
			return nil, err
		}
		if len(e.Items) == 0 {
			return &jsonOf[api.ActionReply]{translate.NoneEndedSo(v, in.Body)}, nil
		}
		e.Choice.States = translate.EndStates(e)
	}
	if slices.Contains([]facts.Action{facts.Retry, facts.Requeue, facts.Redo}, e.Action) {
		if err := s.again(ctx, &e, v); err != nil {
			return nil, err
		}
	}
	audit.Of(ctx).On("", audit.Change{Order: in.Action,
		Items: problem.ClipTo(translate.ChoiceText(in.Body), audit.MaxObject), Owner: v.User, Before: stateOf(v)})
	shape := func(body any) *jsonOf[api.ActionReply] {
		reply := body.(message.ActionReply)
		out := &jsonOf[api.ActionReply]{api.ActionReply{Job: int64(reply.Job), Affected: reply.Affected, Done: reply.Done,
			Order: reply.Order, Version: reply.Version, Remarks: translate.OrEmpty(reply.Remarks)}}
		if a, err := s.agendas.Get(ctx, v); err == nil && len(reply.Items) > 0 {
			if text := a.Text(reply.Items); len(text) <= maxNamed {
				out.Body.Items = text
			}
		}
		return out
	}
	return once(ctx, s.backend, api.OrderJob, in.Key, in, shape, func(c term.Call) (any, error) {
		return s.orderFarm(ctx, c, e)
	})
}

// again adds to an order that lets an ended job run again what it needs to know of the jobs that this one waits for.
func (s *jobService) again(ctx context.Context, e *message.JobAction, v facts.JobFacts) error {
	named, err := s.linked(ctx, v.Dependency, v.PGrp, "")
	if err != nil {
		return err
	}
	e.Links = named.states
	e.Labels = named.labels
	e.Before = named.before
	if v.State.Final() && len(v.WaitFor) > 0 {
		e.Parents, err = s.parents(ctx, named)
	}
	return err
}

// orderFarm gives the order. A farm that holds the job no more, since it ended long ago, is given its
// record and takes it up again.
func (s *jobService) orderFarm(ctx context.Context, c term.Call, e message.JobAction) (any, error) {
	ask := func() (any, error) {
		return c.Ask(ctx, func(t outbox.Ticket) message.Event {
			e.Ticket = t
			return e
		})
	}
	body, err := ask()
	if api.Refusal(err).Kind == api.KindNotFound {
		ctx = context.WithoutCancel(ctx)
		s.records.RLock()
		defer s.records.RUnlock()
		if e.Record, err = s.record(ctx, e.Job); err != nil {
			return nil, err
		}
		body, err = ask()
	}
	return body, err
}

// record reads a job back. It goes on when the caller leaves, who may repeat the call under its key and then finds it
// read sooner.
func (s *jobService) record(ctx context.Context, id facts.JobID) (*items.Prepared, error) {
	ctx, cancel := context.WithTimeout(ctx, recordFor)
	defer cancel()
	leave, err := inTurn(s.turns.recalls)(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	rec := new(items.Prepared)
	known, err := s.reader.Record(ctx, id, rec)
	if err != nil {
		return nil, problem.Reading("a job's record", err)
	}
	if !known {
		return nil, noJob(id)
	}
	return rec, nil
}

// selected are the items that a request names.
func (s *jobService) selected(ctx context.Context, v facts.JobFacts, names string) ([]agenda.Span, error) {
	if err := translate.CheckText("items", names, facts.MaxRange); err != nil {
		return nil, err
	}
	a, err := s.agendas.Get(ctx, v)
	if err != nil {
		return nil, err
	}
	items, err := a.Pick(names)
	if err != nil {
		return nil, problem.Invalid("items", "%v", err)
	}
	return items, nil
}

// endedSo are the items of an order whose latest attempt ran on the host and ended with the exit code that the request
// names. The request may leave out either.
func (s *jobService) endedSo(ctx context.Context, v facts.JobFacts, e message.JobAction,
	r *api.ActionRequest) ([]agenda.Span, error) {
	if e.Choice.OfInstances() || e.Action.TakesItems() == nil {
		return nil, problem.Invalid("host",
			"host and exit_code choose among items; %s of instances or whole jobs takes neither", e.Action)
	}
	if err := translate.CheckName("host", r.Host); err != nil {
		return nil, err
	}
	ended, err := s.reader.EndedSo(ctx, v.ID, facts.HostID(r.Host), r.ExitCode)
	if err != nil {
		return nil, problem.Reading("how the items ended", err)
	}
	return translate.Among(e.Items, ended), nil
}

// stateOf is what the audit trail tells of a job that an order is for.
func stateOf(v facts.JobFacts) map[string]any { return map[string]any{"status": v.State} }

// once runs a change once for each key of a caller: term.Once, in the term that is led now.
func once[T any](ctx context.Context, s *backend, e api.Endpoint, key string, request any, shape func(any) *T,
	change func(term.Call) (any, error)) (*T, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	return term.Once(ctx, l, term.Repeatable{User: gate.PrincipalOf(ctx).User, Endpoint: e.ID, Key: key, Request: request,
		Answers: s.reader}, shape, change)
}
