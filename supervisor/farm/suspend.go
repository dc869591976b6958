package farm

import (
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/model"
)

// beginSuspend has the job start nothing more, if the order is on all of it, so it applies to the pending items too; what runs
// then stands still piece by piece.
func (f *Farm) beginSuspend(j *model.Job, o *model.Order) {
	if f.beginStandstill(j, o, facts.Active) {
		j.State, j.BlockedBy = facts.Suspended, o.By
		f.putJob(j)
	}
}

func (f *Farm) beginResume(j *model.Job, o *model.Order) {
	if f.beginStandstill(j, o, facts.Suspended) {
		j.State, j.BlockedBy = facts.Active, ""
		f.putJob(j)
	}
}

// beginStandstill counts what an order to suspend or resume applies to, and says whether the job itself changes: it is in that
// state, the order is on all of it, and there is something to stand still.
func (f *Farm) beginStandstill(j *model.Job, o *model.Order, from facts.JobState) bool {
	o.Stops = j.Running(o)
	o.Affected = len(o.Stops)
	o.TakeStops()
	if o.Items != nil || j.State != from || from == facts.Active && len(j.Instances) == 0 {
		return false
	}
	o.Affected += j.Tally.Count(agenda.Pending) + j.Tally.Count(agenda.Waiting) + j.Paused()
	o.Affected = max(1, o.Affected) // its instances may be in that state already
	o.Done = o.Affected - len(o.Stops)
	return true
}

// suspend has an instance's processes stand still, or go on. It keeps its slots and its memory.
func (f *Farm) suspend(now time.Time, i *model.Instance, stand bool, by string) {
	if i.Stopping() || i.Suspended() == stand {
		return
	}
	a, e := &i.Attempt, facts.EventFacts{Type: "resumed", By: by}
	if stand {
		a.SuspendedAt = now
		i.Draining = false // it ends nothing by itself; the next plan leaves it out
		e.Type = "suspended"
	} else {
		a.Suspended, a.SuspendedAt = a.SuspendedUntil(now).Seconds(), time.Time{}
	}
	i.Touch()
	f.out.Write(facts.SuspendAttempt{ID: a.AttemptID, At: a.SuspendedAt, Seconds: a.Suspended})
	f.recordOf(now, i, e)
	f.answerSoon(i.Host)
	f.planStale = true
}
