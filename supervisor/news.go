package supervisor

import (
	"context"
	"maps"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/farm"
)

// eventsOfWrites are the events that committed rows tell: starts and ends of items, and orders on them.
func eventsOfWrites(now time.Time, writes []facts.Write) []streamEvent {
	events := make([]streamEvent, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case facts.StartAttempt:
			a := w.Attempt
			events = append(events, streamEvent{topic: "item", at: a.StartedAt, kind: "started", Why: facts.Why{Cause: a.Kind.String()}, job: a.Job,
				item: a.Item, inst: a.Instance, host: a.Host})
		case facts.EndAttempt:
			events = append(events, streamEvent{topic: "item", at: w.EndedAt, kind: string(w.State), Why: w.Why, job: w.ID.Job,
				item: w.ID.Item, inst: -1})
		case facts.StopAttempt:
			events = append(events, streamEvent{topic: "item", at: now, kind: "stopping", Why: w.Why, job: w.ID.Job,
				item: w.ID.Item, inst: -1})
		case facts.AddEvent:
			if e, told := streamOf(w.Event); told {
				events = append(events, e)
			}
		case facts.ChangeMarks:
			events = append(events, streamEvent{topic: "item", at: now, kind: "marked", Why: facts.Why{Cause: "items were marked or unmarked by order"}, job: w.Job, item: -1, inst: -1})
		case facts.ReopenAttempts:
			events = append(events, streamEvent{topic: "item", at: now, kind: "reopened", Why: facts.Why{Cause: "items run again by order"}, job: w.Job, item: -1, inst: -1})
		}
	}
	return events
}

// itemName is looked up in agendas that are parsed already; it never waits for the database.
func (s *server) itemName(id facts.JobID, n facts.ItemNo) string {
	a := s.agendas.peek(id)
	if a == nil {
		v, ok := s.inView(id)
		if !ok {
			return ""
		}
		var err error
		if a, err = s.agendas.get(context.Background(), v.JobFacts); err != nil {
			return ""
		}
	}
	if n < 0 || int(n) >= a.Len() {
		return ""
	}
	return a.Item(int(n)).Name
}

// eventsOfViews are what differs between two views: jobs and hosts that came or changed.
func eventsOfViews(before, now *farm.View) []streamEvent {
	if before == nil {
		return nil
	}
	var events []streamEvent
	jobs := make(map[facts.JobID]*facts.JobView, len(before.Jobs))
	for n := range before.Jobs {
		jobs[before.Jobs[n].ID] = &before.Jobs[n]
	}
	for n := range now.Jobs {
		j := &now.Jobs[n]
		if kind := jobNews(jobs[j.ID], j); kind != "" {
			events = append(events, streamEvent{topic: "job", at: now.At, kind: kind, Why: facts.Why{Reason: j.Code, Params: j.Params, Cause: j.Reason}, job: j.ID, item: -1, inst: -1})
		}
	}
	hosts := make(map[facts.HostID]*farm.HostView, len(before.Hosts))
	for n := range before.Hosts {
		hosts[before.Hosts[n].ID] = &before.Hosts[n]
	}
	for n := range now.Hosts {
		h := &now.Hosts[n]
		if kind := hostNews(hosts[h.ID], h); kind != "" {
			events = append(events, streamEvent{topic: "host", at: now.At, kind: kind, host: h.ID, item: -1, inst: -1})
		}
	}
	return events
}

// jobNews names what changed: the status if that did, else modified or progress.
func jobNews(was, is *facts.JobView) string {
	switch {
	case was == nil:
		return "submitted"
	case was.Status != is.Status:
		return is.Status
	case was.Version != is.Version:
		return "modified"
	case was.Items != is.Items || was.Primary != is.Primary || was.Secondary != is.Secondary || was.Draining != is.Draining ||
		was.Reason != is.Reason || was.MaxCPUsEffective != is.MaxCPUsEffective:
		return "progress"
	}
	return ""
}

func hostNews(was, is *farm.HostView) string {
	switch {
	case was == nil:
		return "registered"
	case was.State != is.State:
		return is.State
	case was.Used != is.Used || was.Slots != is.Slots || len(was.Instances) != len(is.Instances) || was.Cluster != is.Cluster ||
		!slices.Equal(was.Groups, is.Groups) || !maps.Equal(was.Resources, is.Resources):
		return "changed"
	}
	return ""
}
