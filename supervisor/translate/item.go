package translate

import (
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/store"
)

// MarkedItems is the mark of each item first..last, nil for none.
func MarkedItems(marks []facts.Mark, first, last int) []*facts.Mark {
	list := make([]*facts.Mark, last-first+1)
	for i := range marks {
		if s, ok := marks[i].Span().From(first); ok {
			for n := s.First; n <= min(s.Last, last); n += s.Step {
				list[n-first] = &marks[i]
			}
		}
	}
	return list
}

// FillItem decides what an item is: a live attempt outweighs a done one, that a final failure, that a mark;
// nothing of these is pending, or blocked while the job is.
func FillItem(now time.Time, item *api.Item, j *facts.JobFacts, a *facts.AttemptFacts, mark *facts.Mark) {
	if a != nil {
		item.Attempt = a.Number
		item.Status = StatusOf(*a)
		item.Code, item.Params, item.Reason = string(a.Reason), Params(a.Params), a.Cause
	}
	if item.Status != "" {
		item.Kind, item.Host, item.Instance = a.Kind.String(), new(string(a.Host)), new(InstanceName(a.Job, a.Instance))
		item.ExitCode, item.Signal, item.CPUSeconds, item.PeakMemory = a.ExitCode, a.Signal, a.CPU, a.Peak
		item.StartedAt, item.FinishedAt = timeOrNil(a.StartedAt), timeOrNil(a.EndedAt)
		if a.State == facts.Running && !a.SuspendedAt.IsZero() {
			why, params := facts.Because(facts.ReasonSuspended, facts.Params{}, ""), (*api.CodeParams)(nil)
			if a.Standstill() == facts.Resuming {
				why = facts.WhyResuming(a)
				params = Params(why.Params)
			}
			item.SuspendedAt, item.ReleasedAt, item.ResumingAt = timeOrNil(a.SuspendedAt), timeOrNil(a.ReleasedAt), timeOrNil(a.ResumingAt)
			item.Code, item.Params, item.Reason = string(why.Reason), params, why.Cause
		}
		return
	}
	switch {
	case mark != nil:
		item.Status = string(mark.Kind)
		if mark.By != "" {
			item.Code, item.Params, item.Reason = string(mark.Kind), &api.CodeParams{By: mark.By}, item.Status+" by "+mark.By
		}
	case j.State == facts.Blocked:
		item.Status = "blocked"
	case a != nil && j.Pauses(a.State, a.Again, a.Why) && now.Before(a.EndedAt.Add(j.PauseAfter(a.Why))):
		p := facts.Params{Until: facts.Moment(a.EndedAt.Add(j.PauseAfter(a.Why))), Wait: a.Params.Wait}
		if p.Wait == 0 {
			p.Limit = int64(j.RetryDelay)
		}
		why := facts.Because(facts.ReasonRetryDelay, p, a.Cause)
		item.Status, item.Code, item.Params, item.Reason = "pending", string(why.Reason), Params(why.Params), why.Cause
	default:
		item.Status = "pending"
	}
}

// Retried says whether one of these attempts, which are the latest of their items, may not be the first that failed.
func Retried(latest []facts.AttemptFacts) bool {
	return slices.ContainsFunc(latest, func(a facts.AttemptFacts) bool {
		return a.Number > 1 || a.State == facts.Failed && a.Again != facts.Never
	})
}

// FillFailedBefore takes what is known of earlier failures of the item from a list by item, and returns the rest.
func FillFailedBefore(item *api.Item, list []store.FailedBefore) []store.FailedBefore {
	if len(list) == 0 || int(list[0].Item) != item.Number {
		return list
	}
	f := list[0]
	item.FailedBefore = &api.FailedBefore{Attempts: f.Attempts, Host: string(f.Host), Code: string(f.Reason), Reason: f.Cause}
	return list[1:]
}

// StatusOf is what the latest attempt makes of its item, "" if the item may run again.
func StatusOf(a facts.AttemptFacts) string {
	switch {
	case a.State.Live():
		return "running"
	case a.State == facts.Done:
		return "complete"
	case a.Again != facts.Never || a.State == facts.Superseded:
		return ""
	case a.State == facts.Killed:
		return "killed"
	}
	return "failed"
}
