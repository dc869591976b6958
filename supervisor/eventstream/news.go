package eventstream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"qb/supervisor/facts"
	"qb/supervisor/farm"
)

// OfWrites are the events that committed rows tell: new jobs, starts and ends of items, and lines of the history,
// in the order that the history has.
func OfWrites(writes []facts.Write) []Event {
	events := make([]Event, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case facts.PutJob:
			if w.Job.Version == 1 {
				events = append(events, Event{Topic: "job", At: w.Job.SubmittedAt, rank: -1, Kind: "job-submitted", Job: w.Job.ID, Item: -1, Inst: -1})
			}
		case facts.StartAttempt:
			a := w.Attempt
			events = append(events, Event{Topic: "item", At: a.StartedAt, rank: 2, Kind: "item-started", Why: facts.Why{Cause: a.Kind.String()}, Job: a.Job,
				Item: a.Item, Inst: a.Instance, host: a.Host})
		case facts.EndAttempt:
			events = append(events, Event{Topic: "item", At: w.EndedAt, rank: 1, Kind: "item-" + string(w.State), Why: w.Why, Job: w.ID.Job,
				Item: w.ID.Item, Inst: w.Instance, host: w.Host})
		case facts.AddEvent:
			events = append(events, streamOf(w.Event))
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.rank, b.rank)) })
	return events
}

// streamOf shows a row of the history in the stream, under the same type.
func streamOf(e facts.EventFacts) Event {
	out := Event{Topic: "item", At: e.At, Kind: e.Type, Why: e.Why, Job: e.Job, Item: e.Item, Inst: -1, host: e.Host}
	if e.By != "" {
		out.Cause = strings.Join(slices.DeleteFunc([]string{e.Cause, "(by " + e.By + ")"}, func(s string) bool { return s == "" }), " ")
	}
	out.Params.By = cmp.Or(out.Params.By, e.By)
	if e.Job != 0 && e.Instance >= 0 {
		out.Inst = e.Instance
	}
	switch {
	case e.Job == 0 && e.Host != "":
		out.Topic, out.Item = "host", -1
	case e.Job == 0:
		out.Topic, out.Item = "farm", -1
	case e.Item < 0:
		out.Topic = "job"
	}
	switch e.Type {
	case "job-complete", "job-failed", "job-killed":
		out.rank = 3
	}
	return out
}

// OfViews are what differs between two views: jobs that changed, and hosts that came or changed.
func OfViews(before, now *farm.View) []Event {
	if before == nil {
		return nil
	}
	var events []Event
	jobs := make(map[facts.JobID]*facts.JobView, len(before.Jobs))
	for n := range before.Jobs {
		jobs[before.Jobs[n].ID] = &before.Jobs[n]
	}
	for n := range now.Jobs {
		if j := &now.Jobs[n]; jobChanged(jobs[j.ID], j) {
			events = append(events, Event{Topic: "job", At: now.At, Kind: "job-changed", status: j.Status, Why: facts.Why{Reason: j.Code, Params: j.Params, Cause: j.Reason}, Job: j.ID, Item: -1, Inst: -1})
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
			events = append(events, Event{Topic: "host", At: now.At, Kind: kind, status: h.State, Why: used, host: h.ID, Item: -1, Inst: -1})
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
