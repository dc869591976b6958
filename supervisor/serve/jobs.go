package serve

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/osusers"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/page/whatif"
	"qb/supervisor/store"
	"qb/supervisor/store/history"
	"qb/supervisor/wire/lists"
	"qb/supervisor/wire/parts"
	"qb/supervisor/wire/translate"
)

// jobService answers what is asked about jobs, and for them: submissions, changes, orders, lists.
type jobService struct {
	*backend
	trials *whatif.Trials
	users  osusers.Users

	// records keeps an order on a job that is no longer in memory, which reads its rows, apart from the ager, which
	// removes them: an order that acted on removed rows would end the term.
	records sync.RWMutex
	ager    atomic.Pointer[history.Ager] // nil between terms and while nothing can be written
}

func (s *jobService) register(rt *routes) {
	long := body(maxBody)
	mount(rt, api.Submit, s.submit, long, created)
	mount(rt, api.CheckSubmission, led(s.backend, s.checkSubmission), long)
	mount(rt, api.TrySubmission, few(s.turns.heavy, s.trySubmission), long)
	mount(rt, api.ListJobs, bounded(s.listJobs))
	mount(rt, api.GetJob, s.getJob)
	mount(rt, api.ArchiveJob, s.archiveJob)
	mount(rt, api.OrderOfJobs, few(s.turns.heavy, s.jobOrder))
	mount(rt, api.Modify, s.modify)
	mount(rt, api.RemoveJob, s.removeJob)
	mount(rt, api.OrderJobs, s.orderJobs)
	mount(rt, api.OrderJob, s.order, body(maxSmallBody+facts.MaxRange))
	openjdService{s}.register(rt)
	takeUnlimited(rt.api.OpenAPI(), "SubmitRequest", "ModifyRequest")
	mount(rt, api.WhatIf, few(s.turns.heavy, s.whatIf))
}

type jobIn struct {
	Job int64 `path:"job" minimum:"1" doc:"The job's id."`
}

type jobOut struct {
	ETag string `header:"ETag" doc:"The job's version; give it back in If-Match."`
	Body api.Job
}

func (s *jobService) getJob(ctx context.Context, in *jobIn) (*jobOut, error) {
	v, err := s.job(ctx, facts.JobID(in.Job))
	if err != nil {
		return nil, err
	}
	return &jobOut{ETag: etag(v.Version), Body: translate.Job(v, gate.PrincipalOf(ctx).Sees(v.User))}, nil
}

// archiveJob shows what submits the job again, to who may see its command.
func (s *jobService) archiveJob(ctx context.Context, in *jobIn) (*jsonOf[api.JobArchive], error) {
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
	if row.User != gate.PrincipalOf(ctx).User { // the environment is shown to the job's owner only
		row.Env = nil
	}
	return &jsonOf[api.JobArchive]{Body: api.JobArchive{Format: api.ArchiveFormat, Version: api.ArchiveVersion,
		Submission: translate.Request(parts.Whole(row)), Job: new(translate.Job(v, true))}}, nil
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

type listJobsIn struct {
	api.JobFilter
	IDs    []int64 `query:"ids" maxItems:"1000" doc:"Only these, comma-separated."`
	Before int64   `query:"before" minimum:"0" doc:"Only ids below this one: the last id of the page before."`
	ListQuery
	Limit int  `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"Jobs of one page."`
	Total bool `query:"total" doc:"Also count the jobs of all pages, in the header Total-Count."`
}

// ListQuery is how lists of jobs and of hosts are ordered and what they show.
type ListQuery struct {
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

// listJobs reads pages of rows, newest first, replaces what the live view knows better, and collects the jobs that pass
// the filter until the page is full or the rows end.
func (s *jobService) listJobs(ctx context.Context, in *listJobsIn) (*listJobsOut, error) {
	filter, err := lists.ReadFilter(&in.JobFilter)
	if err = cmp.Or(err, lists.CheckMembers[api.Job](in.Fields), in.checkPlace(in.Before)); err != nil {
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
	q.Before = facts.JobID(in.Before)
	q.Limit = in.Limit
	q.Brief = true
	q.Known = func(row facts.JobFacts) (facts.JobView, bool) {
		v, live := s.newer(row)
		if !live && filter.Rejects(row) {
			return lists.OfRow(row), true
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
func (s *jobService) eachPassing(ctx context.Context, f *lists.Filter, q store.JobQuery,
	visit func(*facts.JobView) bool) error {
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

// matching returns the jobs that pass a filter, newest first, at most store.MaxPage. Jobs that are not in the live farm
// are judged by their rows.
func (s *jobService) matching(ctx context.Context, f *lists.Filter) (ids []facts.JobID, err error) {
	if f.ByExpression() {
		q := f.Query
		q.Limit, q.Brief = expressionPage, true
		q.Known = func(row facts.JobFacts) (facts.JobView, bool) {
			v, live := s.picture().Job(row.ID)
			if !live && !f.Counts() {
				return lists.OfRow(row), true
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

// shownUntil is the second up to which a list that is read now shows every change: that of the view, which is never
// ahead of the rows, or of the rows where no view is.
func (s *jobService) shownUntil(ctx context.Context) (string, error) {
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

// newer is the job in the live view. It returns false if the view has no such job or the row is newer.
func (s *jobService) newer(row facts.JobFacts) (facts.JobView, bool) {
	v, ok := s.picture().Job(row.ID)
	return v, ok && v.Version >= row.Version
}
