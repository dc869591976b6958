package eventstream

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// OfWrites are the events that committed rows tell, in the order in which the farm decided them: new jobs, starts and
// ends of items, and lines of the history.
func OfWrites(writes []facts.Write) []Event {
	events := make([]Event, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case facts.PutJob:
			if w.Job.Version == 1 {
				events = append(events, ofJob(w.Job.SubmittedAt, "job-submitted", w.Job.ID, facts.Why{}, ""))
			}
		case facts.StartAttempt:
			a := w.Attempt
			events = append(events, Event{EventFacts: facts.EventFacts{At: a.StartedAt, Type: "item-started", Job: a.Job,
				Item: a.Item, Instance: a.Instance, Host: a.Host,
				Why: facts.Why{Cause: a.Kind.String()}}})
		case facts.EndAttempt:
			events = append(events, Event{EventFacts: facts.EventFacts{At: w.EndedAt, Type: "item-" + string(w.State),
				Job: w.ID.Job, Item: w.ID.Item, Instance: w.Instance,
				Host: w.Host, Why: w.Why}})
		case facts.AddEvent:
			events = append(events, Event{EventFacts: w.Event})
		}
	}
	return events
}

func ofJob(at time.Time, kind string, id facts.JobID, why facts.Why, status string) Event {
	e := Event{facts.FarmEvent(at, kind, why), status}
	e.Job = id
	return e
}

// OfViews are what differs between two views: jobs that changed, and hosts that came or changed.
func OfViews(before, now *message.View) []Event {
	if before == nil {
		return nil
	}
	var events []Event
	byID := func(a, b *facts.JobView) int { return cmp.Compare(a.ID, b.ID) }
	for was, j := range changed(before.Jobs, now.Jobs, byID) {
		if jobChanged(was, j) {
			events = append(events, ofJob(now.At, "job-changed", j.ID,
				facts.Why{Reason: j.Code, Params: j.Params, Cause: j.Reason}, j.Status))
		}
	}
	byName := func(a, b *message.HostView) int { return cmp.Compare(a.ID, b.ID) }
	for was, h := range changed(before.Hosts, now.Hosts, byName) {
		if kind := hostNews(was, h); kind != "" {
			e := Event{facts.FarmEvent(now.At, kind,
				facts.Why{Cause: fmt.Sprintf("%s, %d of %d slots in use", h.State, h.Used, h.Slots)}), h.State}
			e.Host = h.ID
			events = append(events, e)
		}
	}
	return events
}

// changed are the rows of a view that the one before does not share, with what they were; nil: they were not there.
func changed[T any](before, now []*T, compare func(a, b *T) int) iter.Seq2[*T, *T] {
	return func(yield func(was, is *T) bool) {
		for _, is := range now {
			for len(before) > 0 && before[0] != is && compare(before[0], is) < 0 {
				before = before[1:]
			}
			switch {
			case len(before) > 0 && before[0] == is:
				before = before[1:]
			case len(before) > 0 && compare(before[0], is) == 0:
				if !yield(before[0], is) {
					return
				}
				before = before[1:]
			case !yield(nil, is):
				return
			}
		}
	}
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
func hostNews(was, is *message.HostView) string {
	switch {
	case was == nil:
		return "host-registered"
	case was.State != is.State || was.Used != is.Used || was.Slots != is.Slots ||
		len(was.Instances) != len(is.Instances) || was.Cluster != is.Cluster ||
		!slices.Equal(was.Groups, is.Groups) || !maps.Equal(was.Resources, is.Resources):
		return "host-changed"
	}
	return ""
}
