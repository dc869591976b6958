package serve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/limits"
	"qb/supervisor/access/reads"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/why/explain"
	"qb/supervisor/wire/translate"
)

// itemService answers what is asked about the items of a job: states, attempts, output, pictures.
type itemService struct {
	*backend
	itemReads *reads.Cache // of all items of a job
	followers *limits.StreamLimit
}

func (s *itemService) register(rt *routes) {
	mount(rt, api.ItemStates, few(s.turns.heavy, s.itemStates))
	mount(rt, api.ItemValues, few(s.turns.heavy, s.itemValues))
	mount(rt, api.FindInLog, few(s.turns.searching, s.findInLog))
	mount(rt, api.GetItem, s.getItem)
	mount(rt, api.ListItems, s.listItems)
	mount(rt, api.Attempts, s.listAttempts)
	mount(rt, api.History, s.history)
	mount(rt, api.Explain, s.explain)
	mountStream(rt, api.ItemLog, s.itemLog, "text/plain")
	mountStream(rt, api.SessionLog, s.sessionLog, "text/plain")
	mountStream(rt, api.ItemPicture, s.itemPicture, "image/jpeg")
}

type listItemsIn struct {
	Job    int64  `path:"job" minimum:"1" doc:"The job's id."`
	Status string `query:"status" maxLength:"100" doc:"Comma list of pending, blocked, running, complete, failed and killed; empty: all."`
	After  int    `query:"after" minimum:"-1" maximum:"2147483646" default:"-1" doc:"Only numbers above this one: the last number of the page before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Items of one page."`
}

type listItemsOut struct {
	Link string `header:"Link" doc:"The next page, rel=next; absent on the last one. With status a page may have fewer items than its limit, even none."`
	Body []api.Item
}

// For a page of items in some states so many are looked at, in so many parts; the next page goes on from there.
const (
	itemsAtOnce = 10_000
	partsMost   = 10
)

// listItems lays the attempts and the marks over parts of the agenda, until the page is full, enough was looked at or
// the agenda ends.
func (s *itemService) listItems(ctx context.Context, in *listItemsIn) (*listItemsOut, error) {
	states := facts.SplitList(in.Status)
	for _, state := range states {
		if !slices.Contains([]string{"pending", "blocked", "running", "complete", "failed", "killed"}, state) {
			return nil, problem.Invalid("status", "%q; use pending, blocked, running, complete, failed or killed",
				problem.Clip(state))
		}
	}
	return readItems(ctx, s.backend, facts.JobID(in.Job), func(ctx context.Context, j *jobItems) (*listItemsOut, error) {
		marks, err := j.rows.Marks(ctx)
		if err != nil {
			return nil, err
		}
		out, atOnce := &listItemsOut{Body: []api.Item{}}, in.Limit
		if len(states) > 0 {
			atOnce = itemsAtOnce
		}
		for first, parts := in.After+1, 0; first < j.agenda.Len(); first, parts = first+atOnce, parts+1 {
			if parts == partsMost {
				out.Link = nextPage(ctx, "after", strconv.Itoa(first-1))
				break
			}
			part, err := s.itemsBetween(ctx, j, marks, first, min(first+atOnce, j.agenda.Len())-1)
			if err != nil {
				return nil, err
			}
			for _, item := range part {
				if len(states) > 0 && !slices.Contains(states, item.Status) {
					continue
				}
				if out.Body = append(out.Body, item); len(out.Body) == in.Limit && item.Number < j.agenda.Len()-1 {
					out.Link = nextPage(ctx, "after", strconv.Itoa(item.Number))
					return out, nil
				}
			}
		}
		return out, nil
	})
}

// jobItems is what the items of a job are made from: the job's rows in one consistent snapshot of the database.
type jobItems struct {
	facts  facts.JobFacts
	agenda *agenda.Agenda
	rows   store.JobRows
}

// readItems returns what read makes of a job's items in one consistent snapshot. The agenda never changes, so it is
// parsed before a connection to the database is taken.
func readItems[T any](ctx context.Context, s *backend, job facts.JobID,
	read func(context.Context, *jobItems) (*T, error)) (*T, error) {
	v, err := s.facts(ctx, job)
	if err != nil {
		return nil, err
	}
	a, err := s.agendas.Get(ctx, v)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, recordFor)
	defer cancel()
	var answer *T
	found, err := s.reader.ReadJob(ctx, job, func(ctx context.Context, j facts.JobFacts, rows store.JobRows) (err error) {
		answer, err = read(ctx, &jobItems{j, a, rows})
		return err
	})
	if err != nil {
		return nil, problem.Reading("the items of a job", err)
	}
	if !found {
		return nil, noJob(job)
	}
	return answer, nil
}

// itemsBetween are the items first to last of a job.
func (s *itemService) itemsBetween(ctx context.Context, j *jobItems, marks []facts.Mark,
	first, last int) ([]api.Item, error) {
	list := make([]api.Item, 0, last-first+1)
	var progress map[facts.AttemptID]int
	if j.facts.RegexProgress != "" {
		progress = s.picture().Progress(j.facts.ID)
	}
	err := s.eachItem(ctx, j, marks, first, last, func(item api.Item) {
		item.Name = j.agenda.Item(item.Number).Name
		if item.Status == "running" {
			item.Progress = progress[facts.AttemptID{Job: j.facts.ID, Item: facts.ItemNo(item.Number), Number: item.Attempt}]
		}
		list = append(list, item)
	})
	return list, err
}

// eachItem visits the items first to last of a job, without their names.
func (s *itemService) eachItem(ctx context.Context, j *jobItems, marks []facts.Mark, first, last int,
	visit func(api.Item)) error {
	latest, err := j.rows.Latest(ctx, facts.ItemNo(first), facts.ItemNo(last))
	if err != nil {
		return err
	}
	var failed []store.FailedBefore
	if translate.Retried(latest) {
		if failed, err = j.rows.FailedBefore(ctx, facts.ItemNo(first), facts.ItemNo(last)); err != nil {
			return err
		}
	}
	marked := translate.MarkedItems(marks, first, last)
	for n := first; n <= last; n++ {
		item := api.Item{Number: n}
		var attempt *facts.AttemptFacts
		if len(latest) > 0 && int(latest[0].Item) == n {
			attempt, latest = &latest[0], latest[1:]
		}
		translate.FillItem(s.now(), &item, &j.facts, attempt, marked[n-first])
		failed = translate.FillFailedBefore(&item, failed)
		visit(item)
	}
	return nil
}

type listAttemptsIn struct {
	Job   int64  `path:"job" minimum:"1" doc:"The job's id."`
	After string `query:"after" maxLength:"40" doc:"Only those after ITEM.ATTEMPT, the numbers of the last one of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Attempts of one page."`
}

type listAttemptsOut struct {
	Link string `header:"Link" doc:"The next page, rel=next; absent on the last one."`
	Body []api.Attempt
}

func (s *itemService) listAttempts(ctx context.Context, in *listAttemptsIn) (*listAttemptsOut, error) {
	after, err := translate.ReadAfter(in.After)
	if err != nil {
		return nil, err
	}
	after.Job = facts.JobID(in.Job)
	return readItems(ctx, s.backend, after.Job, func(ctx context.Context, j *jobItems) (*listAttemptsOut, error) {
		rows, found, err := s.attemptsAfter(ctx, j, after, in.Limit)
		if err != nil {
			return nil, err
		}
		out := &listAttemptsOut{Body: translate.Each(rows, func(a facts.AttemptFacts) api.Attempt {
			return translate.Attempt(a, nameOf(j.agenda, a.Item), found[a.AttemptID])
		})}
		if len(rows) == in.Limit {
			out.Link = nextPage(ctx, "after", fmt.Sprintf("%d.%d", rows[in.Limit-1].Item, rows[in.Limit-1].Number))
		}
		return out, nil
	})
}

// attemptsAfter are attempts of a job, and what was found in their output, for who may read that.
func (s *itemService) attemptsAfter(
	ctx context.Context, j *jobItems, after facts.AttemptID, limit int,
) (list []facts.AttemptFacts, found map[facts.AttemptID]facts.Found, err error) {
	list, err = j.rows.Attempts(ctx, after, limit)
	if err != nil || len(list) == 0 || s.gate.MayJob(ctx, api.ItemLog, "", gate.JobOf(j.facts)) != nil {
		return list, nil, err
	}
	found, err = j.rows.Found(ctx, list[0].AttemptID, list[len(list)-1].AttemptID)
	return list, found, err
}

// nameOf is the name of an item, "" if there is no such item.
func nameOf(a *agenda.Agenda, n facts.ItemNo) string {
	if n < 0 || int(n) >= a.Len() {
		return ""
	}
	return a.Item(int(n)).Name
}

type historyIn struct {
	Job    int64  `path:"job" minimum:"1" doc:"The job's id."`
	Before string `query:"before" maxLength:"80" doc:"The newest lines before the one with this id."`
	After  string `query:"after" maxLength:"80" doc:"The oldest lines after the one with this id; 0.0.0.0: from the first. Without before and after: the newest of all."`
	Limit  int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Lines at most."`
}

type historyOut struct {
	Earlier int `header:"Qb-Earlier" doc:"How many lines there are before the first of these, unless after is given."`
	Body    []api.Event
}

func (s *itemService) history(ctx context.Context, in *historyIn) (*historyOut, error) {
	page, err := in.page()
	if err != nil {
		return nil, err
	}
	v, err := s.facts(ctx, facts.JobID(in.Job))
	if err != nil {
		return nil, err
	}
	a, err := s.agendas.Get(ctx, v)
	if err != nil {
		return nil, err
	}
	lines, earlier, err := s.reader.History(ctx, v.ID, page)
	if err != nil {
		return nil, problem.Reading("the history of a job", err)
	}
	return &historyOut{Earlier: earlier, Body: translate.Each(lines, func(l store.HistoryLine) api.Event {
		e := translate.Event(l.EventFacts, func(n facts.ItemNo) string { return nameOf(a, n) })
		e.ID = l.Place.String()
		return e
	})}, nil
}

// page is the part of a job's history that is asked for.
func (in *historyIn) page() (page store.HistoryPage, err error) {
	if in.Before != "" && in.After != "" {
		return page, api.Errorf(api.KindInvalid, "before and after: give one of them")
	}
	page.Limit = in.Limit
	if page.Before, err = store.ParseHistoryPlace(in.Before); err != nil {
		return page, api.Errorf(api.KindInvalid, "before: %v; give the id of a line", err)
	}
	if page.After, err = store.ParseHistoryPlace(in.After); err != nil {
		return page, api.Errorf(api.KindInvalid, "after: %v; give the id of a line", err)
	}
	return page, nil
}

// explain asks the live farm, by whose predicates the items wait. A job that it holds no more waits for
// nothing.
func (s *itemService) explain(ctx context.Context, in *jobIn) (*jsonOf[api.Explanation], error) {
	v, err := s.facts(ctx, facts.JobID(in.Job))
	if err != nil {
		return nil, err
	}
	e, err := look(ctx, s.backend, func(m term.Machine, now time.Time) explain.Explanation {
		e, _ := m.Explain(now, v.ID)
		return e
	})
	if err != nil {
		return nil, err
	}
	if e.Cause == "" && v.State == facts.FailedJob { // the farm does not hold it any more
		view, err := s.job(ctx, v.ID)
		if err != nil {
			return nil, err
		}
		e.Why = facts.Why{Reason: view.Code, Params: view.Params, Cause: view.Reason}
	}
	return &jsonOf[api.Explanation]{api.Explanation{Job: in.Job, Code: string(e.Reason),
		Params: translate.Params(e.Params), Reason: e.Cause,
		Facts: translate.Each(e.Facts, factOf)}}, nil
}

// factOf is a line of an explanation.
func factOf(f explain.Fact) api.Fact {
	out := api.Fact{Kind: f.Kind, Code: string(f.Code), Text: f.Text, Slots: f.Slots,
		Jobs: translate.Each(f.Jobs, func(id facts.JobID) int64 {
			return int64(id)
		}), Hosts: translate.Each(f.Hosts, func(id facts.HostID) string { return string(id) })}
	if h := f.Holds; h != nil {
		out.Holds = &api.FactHolds{Primary: h.Primary, Secondary: h.Secondary, Ending: h.Ending}
	}
	return out
}

const attemptsShown = 1000 // of one item

type itemIn struct {
	Job  int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item string `path:"item" maxLength:"1024" doc:"The item's name."`
}

// getItem reads an item and its attempts from the rows.
func (s *itemService) getItem(ctx context.Context, in *itemIn) (*jsonOf[api.ItemReply], error) {
	item, err := readItems(ctx, s.backend, facts.JobID(in.Job),
		func(ctx context.Context, j *jobItems) (*jsonOf[api.ItemReply], error) {
			number, ok := j.agenda.Find(in.Item)
			if !ok {
				return nil, nil
			}
			marks, err := j.rows.Marks(ctx)
			if err != nil {
				return nil, err
			}
			items, err := s.itemsBetween(ctx, j, marks, number, number)
			if err != nil {
				return nil, err
			}
			rows, found, err := s.attemptsAfter(ctx, j, facts.AttemptID{Job: j.facts.ID, Item: facts.ItemNo(number)},
				attemptsShown)
			if err != nil {
				return nil, err
			}
			out := &jsonOf[api.ItemReply]{api.ItemReply{Item: items[0], Attempts: []api.Attempt{}}}
			for _, row := range rows {
				if int(row.Item) == number {
					out.Body.Attempts = append(out.Body.Attempts, translate.Attempt(row, in.Item, found[row.AttemptID]))
				}
			}
			return out, nil
		})
	if err == nil && item == nil {
		return nil, api.Errorf(api.KindNotFound, "job %d has no item %q", in.Job, problem.Clip(in.Item))
	}
	return item, err
}
