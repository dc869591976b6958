package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/translate"
)

type submitIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Made by the client, once per submission: repeating the call with it gives the same job."`
	Body api.SubmitRequest
}

type submitOut struct {
	Location string `header:"Location" doc:"The job's path."`
	Body     api.SubmitReply
}

// submit makes a job, or returns the job that an earlier call with the same key made.
func (s *jobService) submit(ctx context.Context, in *submitIn) (*submitOut, error) {
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := s.gate.MayOn(ctx, api.Submit, owner); err != nil {
		return nil, err
	}
	audit.Of(ctx).SubmitsFor(owner)
	audit.Of(ctx).Changes("", nil,
		map[string]any{"user": owner, "name": problem.Clip(in.Body.Name), "range": problem.Clip(in.Body.Range),
			"priority": in.Body.Priority})
	row, err := s.readSubmission(ctx, &in.Body, owner, in.Key)
	if err != nil {
		return nil, err
	}
	rows, remarks, err := s.divided(ctx, row)
	if err != nil {
		return nil, err
	}
	if err := s.limits.Submit(owner, int(row.Bytes())); err != nil {
		return nil, err
	}
	shape := func(body any) *submitOut {
		reply := body.(message.JobReply)
		if reply.Job.Version == 0 {
			return nil // it repeats a submission whose job the farm no longer holds
		}
		reply.Remarks = translate.Adding(slices.Clone(remarks), reply.Remarks)
		return &submitOut{Location: fmt.Sprintf("%s/%d", api.ListJobs.Path, reply.Job.ID), Body: replyOf(reply)}
	}
	return once(ctx, s.backend, api.Submit, in.Key, in, shape, func(c term.Call) (any, error) {
		e, err := s.submission(ctx, row, in.Body.Status == "blocked")
		if err != nil {
			return nil, err
		}
		return s.submitParts(ctx, c, e, rows, func(more []string) { remarks = translate.Adding(remarks, more) })
	})
}

// readSubmission is the row of a submission, or its refusal by what is known without the farm.
func (s *jobService) readSubmission(ctx context.Context, r *api.SubmitRequest,
	owner, key string) (facts.JobFacts, error) {
	p := gate.PrincipalOf(ctx)
	row, err := translate.Submission(r, owner, submissionOf(p, key))
	if err != nil {
		return row, err
	}
	row.UID = provedUID(ctx, owner)
	if r.Priority != nil && p.SeesAll() {
		row.OperatorPriority = *r.Priority
	}
	preview := &r.PAgendaPriority
	if r.PAgendaPriority == 0 {
		preview = nil
	}
	return row, cmp.Or(s.checkPriority(p, r.Priority), s.checkPriority(p, preview), translate.CheckElite(p.Rights, &row),
		s.checkServed(owner))
}

// submission is what the farm is asked for a row.
func (s *jobService) submission(ctx context.Context, row facts.JobFacts, blocked bool) (message.JobSubmitted, error) {
	known := s.users.Of(ctx, row.User)
	groups, err := s.groupsOf(ctx, row.User, known)
	return message.JobSubmitted{Facts: row, Blocked: blocked, By: gate.PrincipalOf(ctx).User, Account: known.Account,
		Groups: groups}, err
}

// complete adds to a submission what the farm would have to wait for: the states of the jobs that it depends on, and
// its agenda. It refuses a process group or a parent that the job cannot have.
func (s *jobService) complete(ctx context.Context, e *message.JobSubmitted) (err error) {
	named, err := s.linked(ctx, e.Facts.Dependency, e.Facts.PGrp, e.Facts.Label)
	e.Links = named.states
	e.Labels = named.labels
	e.LabelHas = named.labels[e.Facts.Label]
	e.Before = named.before
	if err != nil || e.Known != 0 {
		return err
	}
	if err = s.checkGroup(ctx, e.Facts.User, 0, e.Facts.PGrp); err != nil {
		return err
	}
	if e.Parents, err = s.parents(ctx, named); err != nil {
		return err
	}
	if _, err = s.named(ctx, "pid", e.Facts.PID); err != nil {
		return err
	}
	if e.Agenda, err = s.readAgenda(ctx, e.Facts.Agenda); err != nil {
		return err
	}
	return translate.CheckItems(&e.Facts, e.Agenda)
}

// readAgenda reads the agenda of a submission; nil: it has no range.
func (s *jobService) readAgenda(ctx context.Context, spec agenda.Spec) (*agenda.Agenda, error) {
	if spec.Range == "" {
		return nil, nil
	}
	a, err := s.agendas.Read(ctx, spec, s.live.now.Load().MaxItems)
	if err != nil && !errors.Is(err, problem.ErrNoAnswer) {
		err = &api.Error{Kind: api.KindInvalid, Member: "range", Text: err.Error()}
	}
	return a, err
}

// provedUID is the owner's uid if the owner is at the other end of the unix socket. A token, and a submission for
// another user, prove a name only.
func provedUID(ctx context.Context, owner string) *int64 {
	p := gate.PrincipalOf(ctx)
	peer, ok := credentials.PeerOf(ctx)
	if !ok || p.Token != "" || p.User != owner {
		return nil
	}
	uid := int64(peer.Uid)
	return &uid
}

func replyOf(r message.JobReply) api.SubmitReply {
	return api.SubmitReply{Job: int64(r.Job.ID), Version: r.Job.Version, Remarks: translate.OrEmpty(r.Remarks),
		Changed: translate.Changes(r.Changed), Before: translate.IDs(r.Job.Before())}
}

// checkServed refuses a job that no host of the farm would ever run. Where all workers run items as their own user
// (worker_run_as = "agent"), they run that user's jobs only, because an item can do everything that the worker can. A
// host whose worker has not reported its user yet may serve any owner.
func (s *jobService) checkServed(owner string) error {
	v := s.view.Load()
	if v == nil || len(v.Hosts) == 0 {
		return nil
	}
	for _, h := range v.Hosts {
		if h.RunAs != "agent" || h.AgentUser == "" || h.AgentUser == owner {
			return nil
		}
	}
	return api.Errorf(api.KindForbidden,
		"no host runs jobs of %s: all items of this farm run as %s (worker_run_as = \"agent\"), who trusts them; submit as that user, "+
			"or have workers run by root with worker_run_as = \"owner\"", owner, v.Hosts[0].AgentUser)
}

// submissionOf returns the token that is unique in the database. It includes the caller's name, so that a guessed key
// never leads to another user's job.
func submissionOf(p credentials.Principal, key string) string {
	if key != "" {
		return p.User + ":" + key
	}
	return "-" + rand.Text()
}

// submitFacts gives the job to the farm. A submission is known by its key as long as its job is there.
func (s *jobService) submitFacts(ctx context.Context, c term.Call, e message.JobSubmitted) (_ any, err error) {
	if !strings.HasPrefix(e.Facts.Submission, "-") { // it has a key
		if e.Known, err = s.reader.Submission(ctx, e.Facts.Submission); err != nil {
			return nil, problem.Reading("looking for an earlier submission", err)
		}
	}
	if err := s.complete(ctx, &e); err != nil {
		return nil, err
	}
	if e.Known == 0 {
		written, err := s.limits.Store(ctx, e.Facts.User, e.Facts.Stored())
		if err != nil {
			return nil, err
		}
		defer written()
	}
	body, err := c.Ask(ctx, func(t outbox.Ticket) message.Event {
		e.Ticket = t
		return e
	})
	if err != nil {
		return nil, err
	}
	reply := body.(message.JobReply)
	if e.Known != 0 && reply.Job.Version == 0 {
		if reply.Job, err = s.job(ctx, e.Known); err != nil {
			return nil, err
		}
		// The answer's row, with the hash of the request, is gone after a day; this much of a job never changes.
		if known := reply.Job.JobFacts; !slices.Equal(known.Command, e.Facts.Command) || known.Agenda != e.Facts.Agenda {
			return nil, term.KeyTaken(c.Key())
		}
	}
	return reply, nil
}

func (s *jobService) checkPriority(p credentials.Principal, priority *int) error {
	if best := s.live.now.Load().HighestUser; priority != nil && *priority < best && !p.SeesAll() {
		return problem.Invalid("priority",
			"%d is better than supervisor_highest_user_priority = %d; ask for %d or more, or ask an operator", *priority,
			best, best)
	}
	return nil
}
