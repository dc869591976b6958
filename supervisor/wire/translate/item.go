package translate

import (
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
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
		item.Code = string(a.Reason)
		item.Params = Params(a.Params)
		item.Reason = a.Cause
	}
	if item.Status != "" {
		item.Kind = a.Kind.String()
		item.Host = new(string(a.Host))
		item.Instance = new(InstanceName(a.Job, a.Instance))
		item.ExitCode = a.ExitCode
		item.Signal = a.Signal
		item.CPUSeconds = a.CPU
		item.PeakMemory = a.Peak
		item.StartedAt, item.FinishedAt = timeOrNil(a.StartedAt), timeOrNil(a.EndedAt)
		if a.State == facts.Running && !a.SuspendedAt.IsZero() {
			why, params := facts.Because(facts.ReasonSuspended, facts.Params{}, ""), (*api.CodeParams)(nil)
			if a.SuspensionState() == facts.Resuming {
				why = facts.WhyResuming(&a.RunFacts)
				params = Params(why.Params)
			}
			item.SuspendedAt = timeOrNil(a.SuspendedAt)
			item.ReleasedAt = timeOrNil(a.ReleasedAt)
			item.ResumingAt = timeOrNil(a.ResumingAt)
			item.Code = string(why.Reason)
			item.Params = params
			item.Reason = why.Cause
		}
		return
	}
	switch {
	case mark != nil:
		item.Status = string(mark.Kind)
		if mark.By != "" {
			item.Code = string(mark.Kind)
			item.Params = &api.CodeParams{By: mark.By}
			item.Reason = item.Status + " by " + mark.By
		}
	case j.State == facts.Blocked:
		item.Status = "blocked"
	case a != nil && j.Pauses(a.State, a.Again, a.Why) && now.Before(a.EndedAt.Add(j.PauseAfter(a.Why))):
		p := facts.Params{Until: facts.Moment(a.EndedAt.Add(j.PauseAfter(a.Why))), Wait: a.Params.Wait}
		if p.Wait == 0 {
			p.Limit = int64(j.RetryDelay)
		}
		why := facts.Because(facts.ReasonRetryDelay, p, a.Cause)
		item.Status = "pending"
		item.Code = string(why.Reason)
		item.Params = Params(why.Params)
		item.Reason = why.Cause
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
	item.FailedBefore = &api.FailedBefore{Attempts: f.Attempts, Host: string(f.Host), Code: string(f.Reason),
		Reason: f.Cause}
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
