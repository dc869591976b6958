package supervisor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/audit"
	"qb/supervisor/credentials"
	"qb/supervisor/facts"
	"qb/supervisor/gate"
	"qb/supervisor/jobfilter"
	"qb/supervisor/message"
	"qb/supervisor/outbox"
	"qb/supervisor/parts"
	"qb/supervisor/problem"
	"qb/supervisor/rowlist"
	"qb/supervisor/store"
	"qb/supervisor/term"
	"qb/supervisor/translate"
)

type submitIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Made by the client, once per submission: repeating the call with it gives the same job."`
	Body api.SubmitRequest
}

type submitOut struct {
	Location string `header:"Location" doc:"The job's path."`
	Body     api.SubmitReply
}

// submit makes a job, or finds the one that the same submission made before.
func (s *server) submit(ctx context.Context, in *submitIn) (*submitOut, error) {
	p := gate.PrincipalOf(ctx)
	owner := cmp.Or(in.Body.User, p.User)
	if err := s.gate.MayOn(ctx, api.Submit, owner); err != nil {
		return nil, err
	}
	audit.Of(ctx).SubmitsFor(owner)
	audit.Of(ctx).Changes("", nil, map[string]any{"user": owner, "name": problem.Clip(in.Body.Name), "range": problem.Clip(in.Body.Range), "priority": in.Body.Priority})
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
	return once(ctx, s, api.Submit, in.Key, in, shape, func(c term.Call) (any, error) {
		e, err := s.submission(ctx, row, in.Body.Status == "blocked")
		if err != nil {
			return nil, err
		}
		return s.submitParts(ctx, c, e, rows, func(more []string) { remarks = translate.Adding(remarks, more) })
	})
}

// readSubmission is the row of a submission, or its refusal by what is known without the farm.
func (s *server) readSubmission(ctx context.Context, r *api.SubmitRequest, owner, key string) (facts.JobFacts, error) {
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
	return row, cmp.Or(s.checkPriority(p, r.Priority), s.checkPriority(p, preview), translate.CheckElite(p.Rights, &row), s.checkServed(owner))
}

// submission is what the farm is asked for a row.
func (s *server) submission(ctx context.Context, row facts.JobFacts, blocked bool) (message.JobSubmitted, error) {
	known := s.users.Of(ctx, row.User)
	groups, err := s.groupsOf(ctx, row.User, known)
	return message.JobSubmitted{Facts: row, Blocked: blocked, By: gate.PrincipalOf(ctx).User, Account: known.Account, Groups: groups}, err
}

// complete adds to a submission what the farm would have to wait for: the states of the jobs that it depends on, and its agenda. It refuses a
// process group or a parent that the job cannot have.
func (s *server) complete(ctx context.Context, e *message.JobSubmitted) (err error) {
	named, err := s.linked(ctx, e.Facts.Dependency, e.Facts.PGrp, e.Facts.Label)
	e.Links, e.Labels, e.LabelHas, e.Before = named.states, named.labels, named.labels[e.Facts.Label], named.before
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
func (s *server) readAgenda(ctx context.Context, spec agenda.Spec) (*agenda.Agenda, error) {
	if spec.Range == "" {
		return nil, nil
	}
	a, err := s.agendas.Read(ctx, spec, s.live.now.Load().MaxItems)
	if err != nil && !errors.Is(err, problem.ErrNoAnswer) {
		err = &api.Error{Kind: api.KindInvalid, Member: "range", Text: err.Error()}
	}
	return a, err
}

// provedUID is the owner's uid if the owner is at the other end of the unix socket. A token, and a submission for another
// user, prove a name only.
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
	return api.SubmitReply{Job: int64(r.Job.ID), Version: r.Job.Version, Remarks: translate.OrEmpty(r.Remarks), Changed: translate.Changes(r.Changed), Before: translate.IDs(r.Job.Before())}
}

// checkServed refuses a job that no host of the farm would ever run: all of them run items as one user of their own,
// so that an item can do what their workers can, and serve nobody else. A host that has not said so yet may serve anyone.
func (s *server) checkServed(owner string) error {
	v := s.view.Load()
	if v == nil || len(v.Hosts) == 0 {
		return nil
	}
	for _, h := range v.Hosts {
		if h.RunAs != "agent" || h.AgentUser == "" || h.AgentUser == owner {
			return nil
		}
	}
	return api.Errorf(api.KindForbidden, "no host runs jobs of %s: all items of this farm run as %s (worker_run_as = \"agent\"), who trusts them; submit as that user, "+
		"or have workers run by root with worker_run_as = \"owner\"", owner, v.Hosts[0].AgentUser)
}

// submissionOf is the token that is unique in the database. It carries the caller's name: nobody meets
// another's job by guessing a key.
func submissionOf(p credentials.Principal, key string) string {
	if key != "" {
		return p.User + ":" + key
	}
	return "-" + rand.Text()
}

// submitFacts gives the job to the farm. A submission is known by its key as long as its job is there.
func (s *server) submitFacts(ctx context.Context, c term.Call, e message.JobSubmitted) (_ any, err error) {
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

func (s *server) checkPriority(p credentials.Principal, priority *int) error {
	if best := s.live.now.Load().HighestUser; priority != nil && *priority < best && !p.SeesAll() {
		return problem.Invalid("priority", "%d is better than supervisor_highest_user_priority = %d; ask for %d or more, or ask an operator", *priority, best, best)
	}
	return nil
}

type jobIn struct {
	Job int64 `path:"job" minimum:"1" doc:"The job's id."`
}

type jobOut struct {
	ETag string `header:"ETag" doc:"The job's version; give it back in If-Match."`
	Body api.Job
}

func (s *server) getJob(ctx context.Context, in *jobIn) (*jobOut, error) {
	v, err := s.job(ctx, facts.JobID(in.Job))
	if err != nil {
		return nil, err
	}
	return &jobOut{ETag: etag(v.Version), Body: translate.Job(v, gate.PrincipalOf(ctx).Sees(v.User))}, nil
}

// archiveJob shows what submits the job again, to who may see its command.
func (s *server) archiveJob(ctx context.Context, in *jobIn) (*jsonOf[api.JobArchive], error) {
	id := facts.JobID(in.Job)
	v, err := s.job(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.gate.MayJob(ctx, api.ArchiveJob, "", gate.JobOf(v.JobFacts)); err != nil {
		return nil, err
	}
	row, err := s.facts(ctx, id)
	if err != nil {
		return nil, err
	}
	if row.User != gate.PrincipalOf(ctx).User { // nobody else sees it anywhere
		row.Env = nil
	}
	return &jsonOf[api.JobArchive]{Body: api.JobArchive{Format: api.ArchiveFormat, Version: api.ArchiveVersion, Submission: translate.Request(parts.Whole(row)), Job: new(translate.Job(v, true))}}, nil
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// job finds a job in the view or, if the farm no longer holds it, in the rows.
func (s *server) job(ctx context.Context, id facts.JobID) (facts.JobView, error) {
	if v, ok := s.picture().Job(id); ok {
		return v, nil
	}
	rows, err := s.reader.Jobs(ctx, s.jobQuery(store.JobQuery{IDs: []facts.JobID{id}, Limit: 1}))
	if err != nil {
		return facts.JobView{}, problem.Reading("a job", err)
	}
	if len(rows) == 0 {
		return facts.JobView{}, noJob(id)
	}
	return rows[0], nil
}

// facts finds the row of a job, in the view or the database. It costs the same however many items the job has.
func (s *server) facts(ctx context.Context, id facts.JobID) (facts.JobFacts, error) {
	if v, ok := s.picture().Job(id); ok {
		return v.JobFacts, nil
	}
	j, err := s.reader.Facts(ctx, id)
	if err != nil {
		return facts.JobFacts{}, problem.Reading("a job", err)
	}
	if j == nil {
		return facts.JobFacts{}, noJob(id)
	}
	return *j, nil
}

func noJob(id facts.JobID) *api.Error { return api.Errorf(api.KindNotFound, "there is no job %d", id) }

// jobQuery lets rows tell what the farm would say of a job's memory if it still held it.
func (s *server) jobQuery(q store.JobQuery) store.JobQuery {
	policy, largest := s.live.now.Load().MemoryPolicy(), int64(0)
	for _, h := range s.picture().Hosts {
		largest = max(largest, h.Memory)
	}
	q.Quantile = policy.Quantile
	q.Memory = func(reservations string, past facts.PastMemory) facts.JobMemory {
		return policy.Past(reservations, past, largest)
	}
	return q
}

type listJobsIn struct {
	api.JobFilter
	IDs    []int64 `query:"ids" maxItems:"1000" doc:"Only these, comma-separated."`
	Before int64   `query:"before" minimum:"0" doc:"Only ids below this one: the last id of the page before."`
	Listed
	Limit int  `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"Jobs of one page."`
	Total bool `query:"total" doc:"Also count the jobs of all pages, in the header Total-Count."`
}

// Listed is how lists of jobs and of hosts are ordered and what they show.
type Listed struct {
	Sort   string   `query:"sort" maxLength:"255" doc:"Fields by which the list is ordered, comma-separated, each with a - before it if the largest come first, such as -priority,submitted_at; docs/rest.md has them."`
	After  string   `query:"after" maxLength:"16384" doc:"With sort: the place at which the page before ended, as its header Link has it."`
	Fields []string `query:"fields" maxItems:"100" doc:"Only these members of each, comma-separated, such as id,name,status."`
}

type listJobsOut struct {
	Link  string `header:"Link" doc:"The next page, rel=next; absent on the last one."`
	Total string `header:"Total-Count" doc:"With total: how many jobs all pages have. 10000 stands for that many or more."`
	Next  string `header:"Next-Changed-Since" doc:"The value of changed_since that lists what changes after this answer; with several pages, that of the first one."`
	Body  []api.Job
}

// listJobs reads pages of rows, newest first, takes the live view's word on them and keeps those that pass the filter,
// until the page is full or the rows end.
func (s *server) listJobs(ctx context.Context, in *listJobsIn) (*listJobsOut, error) {
	filter, err := jobfilter.Read(&in.JobFilter)
	if err = cmp.Or(err, rowlist.CheckMembers[api.Job](in.Fields), in.checkPlace(in.Before)); err != nil {
		return nil, err
	}
	for _, id := range in.IDs {
		filter.Query.IDs = append(filter.Query.IDs, facts.JobID(id))
	}
	out := &listJobsOut{Body: []api.Job{}}
	if out.Next, err = s.shownUntil(ctx); err != nil {
		return nil, err
	}
	if in.Total {
		jobs, err := s.matching(ctx, filter)
		if err != nil {
			return nil, err
		}
		out.Total = strconv.Itoa(len(jobs))
	}
	if in.Sort != "" {
		return out, s.sortedJobs(ctx, in, filter, out)
	}
	q, p := s.jobQuery(filter.Query), gate.PrincipalOf(ctx)
	q.Before, q.Limit, q.Brief = facts.JobID(in.Before), in.Limit, true
	q.Known = func(row facts.JobFacts) (facts.JobView, bool) {
		v, live := s.newer(row)
		if !live && filter.Rejects(row) {
			return jobfilter.OfRow(row), true
		}
		return v, live
	}
	return out, s.eachPassing(ctx, filter, q, func(v *facts.JobView) bool {
		out.add(v, p)
		if len(out.Body) == in.Limit {
			out.Link = nextPage(ctx, "before", strconv.FormatInt(int64(v.ID), 10))
		}
		return len(out.Body) < in.Limit
	})
}

func (out *listJobsOut) add(v *facts.JobView, p credentials.Principal) {
	out.Body = append(out.Body, api.Job{})
	j := &out.Body[len(out.Body)-1]
	translate.FillJob(j, v, p.Sees(v.User))
	translate.Shorten(j)
}

// eachPassing visits the jobs that pass a filter, newest first, until visit says no.
func (s *server) eachPassing(ctx context.Context, f *jobfilter.Filter, q store.JobQuery, visit func(*facts.JobView) bool) error {
	if f.ByExpression() {
		q.Limit = max(q.Limit, expressionPage)
	}
	for {
		rows, err := s.reader.Jobs(ctx, q)
		if err != nil {
			return problem.Reading("a page of jobs", err)
		}
		for n := range rows {
			if f.Passes(&rows[n]) && !visit(&rows[n]) {
				return nil
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.Before = rows[len(rows)-1].ID
	}
}

// expressionPage is how many rows are read at a time where few of them may pass.
const expressionPage = 1000

// matching are the jobs that pass a filter, newest first, store.MaxPage at most. Of one that only the rows know, the row
// decides.
func (s *server) matching(ctx context.Context, f *jobfilter.Filter) (ids []facts.JobID, err error) {
	if f.ByExpression() {
		q := f.Query
		q.Limit, q.Brief = expressionPage, true
		q.Known = func(row facts.JobFacts) (facts.JobView, bool) {
			v, live := s.picture().Job(row.ID)
			if !live && !f.Counts() {
				return jobfilter.OfRow(row), true
			}
			return v, live
		}
		err := s.eachPassing(ctx, f, q, func(v *facts.JobView) bool {
			ids = append(ids, v.ID)
			return len(ids) < store.MaxPage
		})
		return ids, err
	}
	refs, err := s.reader.JobRefs(ctx, f.Query)
	if err != nil {
		return nil, problem.Reading("the jobs asked for", err)
	}
	for _, r := range refs {
		if v, live := s.picture().Job(r.ID); !live || f.Passes(&v) {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// shownUntil is the second up to which a list that is read now shows every change: that of the view, which is never ahead
// of the rows, or of the rows where no view is.
func (s *server) shownUntil(ctx context.Context) (string, error) {
	var at time.Time
	if view := s.view.Load(); view != nil {
		at = view.At
	} else if last, err := s.reader.LastChange(ctx); err != nil {
		return "", problem.Reading("when jobs changed last", err)
	} else {
		at = last
	}
	if at.IsZero() {
		return "", nil
	}
	return at.Truncate(time.Second).UTC().Format(time.RFC3339), nil
}

// newer is the live view's word on a job unless the row is newer.
func (s *server) newer(row facts.JobFacts) (facts.JobView, bool) {
	v, ok := s.picture().Job(row.ID)
	return v, ok && v.Version >= row.Version
}
