package farm

import (
	"time"

	"qb/agenda"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// suspensions has instances stand still and go on.
type suspensions struct {
	*shared
	syncs     *syncs
	ahead     *ahead
	resumeDue []*model.Host // on which there may be room for what waits to go on
}

// begin counts what an order to suspend or resume applies to; what runs then is suspended, or resumes, piece by piece.
// The job itself changes if it is in the state from, the order is on all of it, and there is something to suspend:
// then it starts nothing more, or does so again, and the order applies to the pending items too.
func (st *suspensions) begin(j *model.Job, o *model.Action, from, to facts.JobState, by string) {
	o.TakeStops(j.Running(o))
	if o.Items != nil || j.State != from || from == facts.Active && len(j.Instances) == 0 {
		return
	}
	o.Affected += j.Tally.Count(agenda.Pending) + j.Tally.Count(agenda.Waiting) + j.Paused()
	o.Affected = max(1, o.Affected) // its instances may be in that state already
	o.Done = o.Affected - len(o.Stops)
	j.State, j.BlockedBy = to, by
	st.putJob(j)
}

// suspend has an instance's processes stand still, or go on. Whether it keeps its slots meanwhile is the policy's.
func (st *suspensions) suspend(now time.Time, i *model.Instance, stand bool, by string) {
	a := &i.Attempt
	switch was := a.SuspensionState(); {
	case i.Stopping():
	case stand && was == facts.NotSuspended:
		a.SuspendedAt = now
		st.ahead.handBack(i)
		i.Draining = false // it ends nothing by itself; the next plan leaves it out
		st.noteStandstill(now, i, "suspended", by)
	case stand && was == facts.Resuming:
		st.releaseSlots(now, i, was, by)
	case !stand && was == facts.SuspendedHolding:
		st.resume(now, i, by)
	case !stand && was == facts.SuspendedReleased:
		a.ResumingAt = now
		st.noteRelease(now, i, was, "resuming", by)
	}
}

// resume has the processes of an instance go on, with all its slots. After its lease it had none that it could give
// back: if it is lost, it is charged until then.
func (st *suspensions) resume(now time.Time, i *model.Instance, by string) {
	a := &i.Attempt
	held := now
	if held.After(i.Granted) {
		held = i.Granted
	}
	_, a.Released = a.SuspendedSeconds(held)
	a.Suspended, _ = a.SuspendedSeconds(now)
	a.SuspendedAt = time.Time{}
	a.ReleasedAt = time.Time{}
	a.ResumingAt = time.Time{}
	st.noteStandstill(now, i, "resumed", by)
}

func (st *suspensions) noteStandstill(now time.Time, i *model.Instance, event, by string) {
	a := &i.Attempt
	i.Touch()
	st.out.Write(facts.SuspendAttempt{ID: a.AttemptID, At: a.SuspendedAt, Seconds: a.Suspended, Released: a.Released})
	st.recordOf(now, i, facts.EventFacts{Type: event, By: by})
	st.syncs.answerSoon(i.Host)
	st.planStale = true
}

// releaseSlots gives the slots of an instance to others, or leaves them to others once more.
func (st *suspensions) releaseSlots(now time.Time, i *model.Instance, was facts.Suspension, by string) {
	a := &i.Attempt
	if was == facts.SuspendedHolding {
		a.ReleasedAt = now
	}
	a.ResumingAt = time.Time{}
	st.noteRelease(now, i, was, "released", by)
}

func (st *suspensions) noteRelease(now time.Time, i *model.Instance, was facts.Suspension, event, by string) {
	a := &i.Attempt
	i.Touch()
	st.out.Write(facts.ReleaseAttempt{ID: a.AttemptID, From: was, At: a.ReleasedAt, Resuming: a.ResumingAt})
	st.recordOf(now, i, facts.EventFacts{Type: event, By: by})
	st.noteResuming(i.Host)
	st.planStale = true
}

// maybeRelease takes the slots of an instance for others once its worker has reported that its whole tree is frozen:
// like an end, that is proven and not only ordered.
func (st *suspensions) maybeRelease(now time.Time, i *model.Instance, reported int64) {
	if n := i.SuspensionID(); st.policy.ReleaseSlots && n != 0 && n == reported && !i.Released() {
		st.releaseSlots(now, i, facts.SuspendedHolding, "")
	}
}

// noteResuming notes a host on which there may be room for what waits to go on.
func (st *suspensions) noteResuming(h *model.Host) {
	if h.Wanted > 0 && !h.ResumeDue {
		h.ResumeDue = true
		st.resumeDue = append(st.resumeDue, h)
	}
}

// resumeWaiting has what was resumed go on where there is room for it now, on each host the longest waiting first. Only
// hosts on which something has changed are looked at.
func (st *suspensions) resumeWaiting(now time.Time) {
	defer st.out.OwnWork()()
	for len(st.resumeDue) > 0 {
		h := st.resumeDue[0]
		for _, i := range h.Resuming() {
			if !h.RoomToResume(i) {
				break
			}
			if st.out.Spent() {
				return
			}
			st.resume(now, i, "")
		}
		h.ResumeDue = false
		st.resumeDue = st.resumeDue[1:]
	}
}
