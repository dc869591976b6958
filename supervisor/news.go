package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"qb/supervisor/facts"
	"qb/supervisor/farm"
)

// eventsOfWrites are the events that committed rows tell: new jobs, starts and ends of items, and lines of the history,
// in the order that the history has.
func eventsOfWrites(writes []facts.Write) []streamEvent {
	events := make([]streamEvent, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case facts.PutJob:
			if w.Job.Version == 1 {
				events = append(events, streamEvent{topic: "job", at: w.Job.SubmittedAt, rank: -1, kind: "job-submitted", job: w.Job.ID, item: -1, inst: -1})
			}
		case facts.StartAttempt:
			a := w.Attempt
			events = append(events, streamEvent{topic: "item", at: a.StartedAt, rank: 2, kind: "item-started", Why: facts.Why{Cause: a.Kind.String()}, job: a.Job,
				item: a.Item, inst: a.Instance, host: a.Host})
		case facts.EndAttempt:
			events = append(events, streamEvent{topic: "item", at: w.EndedAt, rank: 1, kind: "item-" + string(w.State), Why: w.Why, job: w.ID.Job,
				item: w.ID.Item, inst: w.Instance, host: w.Host})
		case facts.AddEvent:
			events = append(events, streamOf(w.Event))
		}
	}
	slices.SortStableFunc(events, func(a, b streamEvent) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.rank, b.rank)) })
	return events
}

// streamOf shows a row of the history in the stream, under the same type.
func streamOf(e facts.EventFacts) streamEvent {
	out := streamEvent{topic: "item", at: e.At, kind: e.Type, Why: e.Why, job: e.Job, item: e.Item, inst: -1, host: e.Host}
	if e.By != "" {
		out.Cause = strings.Join(slices.DeleteFunc([]string{e.Cause, "(by " + e.By + ")"}, func(s string) bool { return s == "" }), " ")
	}
	out.Params.By = cmp.Or(out.Params.By, e.By)
	if e.Job != 0 && e.Instance >= 0 {
		out.inst = e.Instance
	}
	switch {
	case e.Job == 0 && e.Host != "":
		out.topic, out.item = "host", -1
	case e.Job == 0:
		out.topic, out.item = "farm", -1
	case e.Item < 0:
		out.topic = "job"
	}
	switch e.Type {
	case "job-complete", "job-failed", "job-killed":
		out.rank = 3
	}
	return out
}

// itemName is looked up by the reader of the stream, who alone waits for a job that the farm no longer holds.
func (s *server) itemName(id facts.JobID, n facts.ItemNo) string {
	a := s.agendas.peek(id)
	if a == nil {
		j, err := s.facts(context.Background(), id)
		if err != nil {
			return ""
		}
		if a, err = s.agendas.get(context.Background(), j); err != nil {
			return ""
		}
	}
	if n < 0 || int(n) >= a.Len() {
		return ""
	}
	return a.Item(int(n)).Name
}

// eventsOfViews are what differs between two views: jobs that changed, and hosts that came or changed.
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
		if j := &now.Jobs[n]; jobChanged(jobs[j.ID], j) {
			events = append(events, streamEvent{topic: "job", at: now.At, kind: "job-changed", status: j.Status, Why: facts.Why{Reason: j.Code, Params: j.Params, Cause: j.Reason}, job: j.ID, item: -1, inst: -1})
		}
	}
	hosts := make(map[facts.HostID]*farm.HostView, len(before.Hosts))
	for n := range before.Hosts {
		hosts[before.Hosts[n].ID] = &before.Hosts[n]
	}
	for n := range now.Hosts {
		h := &now.Hosts[n]
		if kind := hostNews(hosts[h.ID], h); kind != "" {
			used := facts.Why{Cause: fmt.Sprintf("%s, %d of %d slots in use", h.State, h.Used, h.Slots)}
			events = append(events, streamEvent{topic: "host", at: now.At, kind: kind, status: h.State, Why: used, host: h.ID, item: -1, inst: -1})
		}
	}
	return events
}

// jobChanged reports whether the listing of a job has changed, other than by the submission or the end, which have
// events of their own.
func jobChanged(was, is *facts.JobView) bool {
	if was == nil || was.State != is.State && is.State.Final() {
		return false
	}
	return was.Status != is.Status || was.Version != is.Version || was.Items != is.Items ||
		was.Primary != is.Primary || was.Secondary != is.Secondary || was.Draining != is.Draining ||
		was.Reason != is.Reason || was.MaxCPUsEffective != is.MaxCPUsEffective
}

// hostNews is the type of the event that tells of a host's new listing, empty for none.
func hostNews(was, is *farm.HostView) string {
	switch {
	case was == nil:
		return "host-registered"
	case was.State != is.State || was.Used != is.Used || was.Slots != is.Slots || len(was.Instances) != len(is.Instances) || was.Cluster != is.Cluster ||
		!slices.Equal(was.Groups, is.Groups) || !maps.Equal(was.Resources, is.Resources):
		return "host-changed"
	}
	return ""
}
