package serve

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/lists"
	"qb/supervisor/wire/translate"
)

// checkPlace refuses a place in another kind of list.
func (in *ListQuery) checkPlace(before int64) error {
	switch {
	case in.After != "" && in.Sort == "":
		return problem.Invalid("after", "it is a place in a list with sort, and there is none")
	case before != 0 && in.Sort != "":
		return problem.Invalid("before", "it is a place in the list by ids; with sort go on with after")
	}
	return nil
}

// sortedJobs reads all jobs that pass the filter, retains the first of the order behind the place, and counts what is
// to be shown of those alone.
func (s *jobService) sortedJobs(ctx context.Context, in *listJobsIn, filter *lists.Filter, out *listJobsOut) error {
	order, err := lists.JobFields.Order(in.Sort, "-id")
	if err != nil {
		return err
	}
	page, err := lists.NewPage[facts.JobView, facts.JobID](order, in.After, in.Limit)
	if err != nil {
		return err
	}
	q, p := s.jobQuery(filter.Query), gate.PrincipalOf(ctx)
	q.Limit, q.Brief = expressionPage, true
	counts := order.Counts()
	q.Known = func(row facts.JobFacts) (facts.JobView, bool) {
		v, live := s.newer(row)
		if !live && (filter.Rejects(row) || !counts && !filter.Counts()) {
			return lists.OfRow(row), true
		}
		return v, live
	}
	err = s.eachPassing(ctx, filter, q, func(v *facts.JobView) bool {
		page.Add(v, func() facts.JobID { return v.ID })
		return true
	})
	if err != nil {
		return err
	}
	ids, next := page.Rows()
	if next != "" {
		out.Link = nextPage(ctx, "after", next)
	}
	if len(ids) == 0 {
		return nil
	}
	q.IDs = ids
	q.Limit = len(ids)
	q.Known = s.newer
	rows, err := s.reader.Jobs(ctx, q)
	if err != nil {
		return problem.Reading("a page of jobs", err)
	}
	at := make(map[facts.JobID]int, len(ids))
	for n, id := range ids {
		at[id] = n
	}
	slices.SortFunc(rows, func(a, b facts.JobView) int { return at[a.ID] - at[b.ID] })
	for n := range rows {
		out.add(&rows[n], p)
	}
	return nil
}

type listHostsIn struct {
	Expression string `query:"expression" maxLength:"4096" doc:"Only hosts for which it holds, such as state = up and memory.avail >= 16GiB; docs/filters.md has the language."`
	ListQuery
	Limit int `query:"limit" minimum:"0" maximum:"100000" doc:"Hosts of one page; 0: all."`
}

type listHostsOut struct {
	Link string `header:"Link" doc:"The next page, rel=next; absent on the last one."`
	Body []api.Host
}

// listHosts shows the view: what is promised and what runs is known to the live farm only.
func (s *hostService) listHosts(ctx context.Context, in *listHostsIn) (*listHostsOut, error) {
	view := s.view.Load()
	if view == nil {
		return nil, s.standingBy()
	}
	rows, next, err := lists.PageOfHosts(s.shownHosts(view),
		lists.Wanted{Expression: in.Expression, Sort: in.Sort, After: in.After, Fields: in.Fields, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := &listHostsOut{Body: translate.Each(rows, translate.Host)}
	if next != "" {
		out.Link = nextPage(ctx, "after", next)
	}
	return out, nil
}

// shownHosts are all hosts of a list, at last the ones that wait for approval.
func (s *hostService) shownHosts(view *term.Picture) iter.Seq[*message.HostView] {
	return func(yield func(*message.HostView) bool) {
		for h := range view.AllHosts() {
			if !yield(s.withTerm(h)) {
				return
			}
		}
		for _, h := range s.pendingHosts() {
			if !yield(h) {
				return
			}
		}
	}
}

// nextPage is the header Link of a page: the same request, from another place on.
func nextPage(ctx context.Context, place, at string) string {
	u := requestFactsOf(ctx).url
	q := u.Query()
	q.Set(place, at)
	return fmt.Sprintf("<%s?%s>; rel=\"next\"", u.EscapedPath(), q.Encode())
}
