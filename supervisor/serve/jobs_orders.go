package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/store/history"
	"qb/supervisor/wire/lists"
	"qb/supervisor/wire/translate"
)

// Of one order on many jobs.
const (
	maxMany   = 1000
	manyFor   = 2 * term.AskFor // for all of them; those not begun by then are refused
	manyAtOne = 32              // at once: they share commits
)

type orderJobsIn struct {
	Action string `path:"action" enum:"kill,retry,requeue,redo,block,unblock,interrupt,preempt,shove,suspend,resume,migrate,retire,top,bottom,complete,fail,remove"`
	Key    string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it acts on the same jobs, changes nothing more where it was done, and answers that the same."`
	Body   api.ManyJobs
}

// orderJobs gives an order to each of many jobs, as if each was ordered by itself: with its own rights, limits, answer
// and row of the audit trail. The key of each is made from the key of all.
func (s *jobService) orderJobs(ctx context.Context, in *orderJobsIn) (*jsonOf[api.ManyReply], error) {
	ids, err := s.jobsNamed(ctx, in)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, manyFor)
	defer cancel()
	out := &jsonOf[api.ManyReply]{api.ManyReply{Results: make([]api.JobResult, len(ids))}}
	var some errgroup.Group
	some.SetLimit(manyAtOne)
	for n, id := range ids {
		some.Go(func() error {
			out.Body.Results[n] = s.orderOne(ctx, in, n, id)
			return nil
		})
	}
	_ = some.Wait() // each has its result
	for n := range out.Body.Results {
		out.Body.Affected += out.Body.Results[n].Affected
	}
	return out, nil
}

// orderOne is the result of the job n, under a key that no request can have.
func (s *jobService) orderOne(ctx context.Context, in *orderJobsIn, n int, id int64) (r api.JobResult) {
	ctx = withNote(ctx, api.OrderJobs)
	key := ""
	if in.Key != "" {
		key = fmt.Sprintf("%s job %d", in.Key, id)
	}
	var out *jsonOf[api.ActionReply]
	err := ctx.Err()
	switch {
	case err != nil:
		err = problem.ErrNoAnswer
	case in.Action == actionRemove:
		out, err = s.removeJob(ctx, &removeJobIn{Job: id, Key: key})
	default:
		match := ""
		if n < len(in.Body.Versions) && in.Body.Versions[n] != 0 {
			match = etag(in.Body.Versions[n])
		}
		out, err = s.order(ctx, &orderIn{Job: id, Action: in.Action, Key: key, IfMatch: match})
	}
	if err != nil {
		p := s.problemFor(ctx, api.OrderJobs, err)
		return api.JobResult{ActionReply: api.ActionReply{Job: id, Remarks: []string{}},
			Code: strings.TrimPrefix(p.Type, "urn:qb:error:"), Detail: p.Detail}
	}
	return api.JobResult{ActionReply: out.Body, Code: "ok"}
}

// withNote gives one of many changes a row of its own in the audit trail.
func withNote(ctx context.Context, e api.Endpoint) context.Context {
	n := new(audit.Note)
	n.Begin(factsOfRequest(ctx, e))
	return audit.With(ctx, n)
}

// withoutNote is for what a change needs of the farm beside itself.
func withoutNote(ctx context.Context) context.Context {
	return audit.With(ctx, &audit.Note{})
}

// jobsNamed returns the jobs that an action on many jobs applies to. Jobs chosen by a filter are stored under the
// Idempotency-Key, so that a repeated call acts on the same jobs even if they no longer pass the filter.
func (s *jobService) jobsNamed(ctx context.Context, in *orderJobsIn) ([]int64, error) {
	body := &in.Body
	switch f := body.Filter; {
	case (len(body.Jobs) > 0) == (f != nil):
		return nil, problem.Invalid("jobs", "give either jobs or a filter")
	case len(body.Versions) > 0 && (f != nil || len(body.Versions) != len(body.Jobs) || in.Action == actionRemove):
		return nil, problem.Invalid("versions", "give one for each of jobs, and none with a filter or for remove")
	case f == nil:
		return body.Jobs, nil
	case f.User == "" && f.Status == "" && f.Name == "" && f.Cluster == "" && f.Expression == "" && len(f.Tags) == 0 &&
		f.ChangedSince.IsZero() && f.FinishedSince.IsZero():
		return nil, problem.Invalid("filter", "it has no member and would choose the jobs of everybody; give at least one")
	}
	if in.Key == "" {
		return s.chosen(ctx, body.Filter)
	}
	type jobs struct{ Jobs []int64 }
	var found jobs
	key := in.Key + " jobs"
	list, err := once(withoutNote(ctx), s.backend, api.OrderJobs, key, in, func(any) *jobs {
		return &found
	}, func(c term.Call) (_ any, err error) {
		if found.Jobs, err = s.chosen(ctx, body.Filter); err != nil {
			return nil, err
		}
		// An event that changes nothing: its answer, which has the jobs, is durable before any of them is ordered something.
		return c.Ask(withoutNote(ctx), func(t outbox.Ticket) message.Event { return message.JobsAged{Ticket: t} })
	})
	if err != nil {
		return nil, err
	}
	return list.Jobs, nil
}

// chosen are the jobs that pass a filter.
func (s *jobService) chosen(ctx context.Context, f *api.JobFilter) ([]int64, error) {
	filter, err := lists.ReadFilter(f)
	if err != nil {
		return nil, err
	}
	ids, err := s.matching(ctx, filter)
	if err != nil {
		return nil, err
	}
	if len(ids) > maxMany {
		return nil, problem.Invalid("filter",
			"%d jobs pass it; at most %d at a time: narrow it, for example by name or changed_since", len(ids), maxMany)
	}
	return translate.Each(ids, func(id facts.JobID) int64 { return int64(id) }), nil
}

const actionRemove = "remove"

type removeJobIn struct {
	Job int64  `path:"job" minimum:"1" doc:"The job's id."`
	Key string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Not needed: removing a job that was removed is answered the same."`
}

// removeJob removes an ended job. Its attempts become daily sums before, so that reports and charges stay.
func (s *jobService) removeJob(ctx context.Context, in *removeJobIn) (*jsonOf[api.ActionReply], error) {
	p, id := gate.PrincipalOf(ctx), facts.JobID(in.Job)
	if _, err := s.leading(); err != nil {
		return nil, err
	}
	ager := s.ager.Load()
	if ager == nil {
		return nil, api.Errorf(api.KindUnavailable,
			"nothing can be removed now: the supervisor has just begun, or cannot write; try again in a moment")
	}
	done := &jsonOf[api.ActionReply]{api.ActionReply{Job: in.Job, Affected: 1, Done: 1, Remarks: []string{}}}
	ctx, cancel := context.WithTimeout(ctx, term.AskFor)
	defer cancel()
	v, err := s.stored(ctx, id) // the list from which the caller chose it may be of rows, too
	if err != nil {
		if gone, lost := ager.Store.Gone(ctx, []facts.JobID{id}); lost == nil && len(gone) == 1 {
			return done, nil
		}
		return nil, err
	}
	if err := s.gate.MayJob(ctx, api.RemoveJob, "", gate.JobOf(v)); err != nil {
		return nil, err
	}
	if err := mayRemove(ctx, ager, v); err != nil {
		return nil, err
	}
	if err := s.limits.Change(p.User, 0); err != nil {
		return nil, err
	}
	rows := audit.Of(ctx).Rows(fmt.Sprintf("job %d", id),
		audit.Change{Order: actionRemove, Owner: v.User,
			Before: map[string]any{"status": v.State, "name": problem.Clip(v.Name)}})
	if err := ager.RemoveJob(withoutNote(ctx), id, rows...); err != nil {
		return nil, notRemoved(ctx, id, err)
	}
	s.picture().Enter(message.ViewDelta{Jobs: map[facts.JobID]*facts.JobView{id: nil}})
	return done, nil
}

// mayRemove returns an error unless a job has ended and no other job depends on it.
func mayRemove(ctx context.Context, ager *history.Ager, v facts.JobFacts) error {
	if !v.State.Final() {
		return api.Errorf(api.KindConflict, "job %d has not ended; kill it first (qbkill %d), or wait until it has ended",
			v.ID, v.ID)
	}
	waiting, err := ager.Store.WaitFor(ctx, v.ID)
	if err != nil {
		return problem.Reading("which jobs wait for a job", err)
	}
	if len(waiting) > 0 {
		return api.Errorf(api.KindConflict,
			"job %d waits for job %d, which would never run again; kill or change that one first", waiting[0], v.ID)
	}
	return nil
}

// notRemoved is the refusal of a removal that failed or takes longer.
func notRemoved(ctx context.Context, id facts.JobID, err error) error {
	switch {
	case errors.Is(err, history.ErrHeld):
		return api.Errorf(api.KindConflict, "job %d runs again; kill it first (qbkill %d), or wait until it has ended", id,
			id)
	case errors.Is(err, store.ErrRows):
		return api.Errorf(api.KindConflict, "job %d cannot be removed: %v", id, err)
	case ctx.Err() != nil:
		return api.Errorf(api.KindUnavailable,
			"job %d has many attempts, and not all are daily sums yet; repeat the call to go on", id)
	}
	return problem.Reading("removing a job", err)
}
