package farm

import (
	"fmt"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/model"
)

// drain lets the instance go at its item's end. Which instances those are is decided anew by every plan, so
// the history hears of each attempt's drain, and of its being taken back, once.
func (f *Farm) drain(now time.Time, i *model.Instance, why facts.Why) {
	i.Draining = true
	i.Recount()
	if i.DrainRecorded == i.Attempt.AttemptID {
		return
	}
	if f.out.Spent() {
		f.planning.drainUnrecorded = true
		return
	}
	i.DrainRecorded = i.Attempt.AttemptID
	f.recordOf(now, i, facts.EventFacts{Type: "draining", Why: why})
}

// drainForGood lets an instance finish its item and go for good, where the plan has another start in its place that cannot: its job
// has no other item, or no budget. The next plan gives the room that was meant for that start to others.
func (f *Farm) drainForGood(a *rollout, i *model.Instance) {
	if a.vain[i.Job] == 0 {
		return
	}
	a.vain[i.Job]--
	i.ForGood, a.replan = true, true
	i.Touch()
}

// undrained tells of an instance that was to leave and stays.
func (f *Farm) undrained(now time.Time, i *model.Instance) {
	if i.Ending() || i.StayRecorded == i.Attempt.AttemptID || f.out.Spent() {
		return // where so much moves at once that the commit is full, the history can do without it
	}
	i.StayRecorded = i.Attempt.AttemptID
	f.recordOf(now, i, facts.EventFacts{Type: "kept", Why: facts.Because(facts.ReasonSlotNotNeeded, facts.Params{}, "")})
}

// reasonToClose says why an instance whose item has ended may not go on; without a cause it may. known says that the
// history has the reason already: of a drain, a person's order, or the job's own end.
func (f *Farm) reasonToClose(now time.Time, i *model.Instance) (why facts.Why, known bool) {
	switch {
	case i.Draining, i.SentAway, i.Job.State != facts.Active:
		return facts.Why{Cause: "it was to leave"}, true
	case i.Released(): // to others, who may run there: it was killed as it stood still, and has no slots for another item
		return facts.Why{Cause: "it has given back its slots"}, true
	case i.Protected() && i.Kind == facts.Secondary && f.policy.Share.Preempt != "disabled": // plans have counted it as its job's in any case
		return facts.Why{Cause: "its slot is divided anew"}, true
	case i.Expired(now):
		return facts.Why{Reason: facts.ReasonTimeLimitReached, Params: facts.Params{Limit: int64(i.Job.TimeLimit)}, Cause: fmt.Sprintf("it has run for its timelimit of %d s", i.Job.TimeLimit)}, false
	case !i.Host.Usable(now, f.policy):
		return facts.Why{Reason: facts.ReasonHostUnavailable, Cause: "the host takes no work now"}, false
	case i.Host.Used > i.Host.Slots: // its worker was restarted with fewer: what runs ends by itself, and nothing follows
		return facts.Why{Reason: facts.ReasonSlotsLowered, Cause: fmt.Sprintf("the host has %s now, and %d are taken", facts.Several(i.Host.Slots, "slot"), i.Host.Used)}, false
	case i.Host.Used > i.Host.Offered():
		return i.Host.WhyAway(), false
	case i.Host.Wanted > 0 && i.Host.Free() < 0:
		return facts.Because(facts.ReasonKeptForResumed, facts.Params{Host: i.Host.ID}, ""), false
	}
	if over := f.usage.accounts.Exhausted(now, i.Job.Payer()); over != nil { // it waits for this one, whatever other it is over
		i.Job.Limit = over
	}
	if i.Job.WaitsForBudget(&f.policy.Share) {
		return i.Job.Limit.Why(), false
	}
	if over := i.Job.Exceeded(); over != nil {
		return over.Why(), false
	}
	if over := f.resources.overuse(i); over.Reason != "" {
		return over, false
	}
	if why := i.Host.Refusal(now, i.Job, i); !why.Serves() {
		return facts.Why{Reason: why.Kind, Cause: "the host serves the job no longer: " + why.String()}, false
	}
	if text := i.Outgrown(); text != "" {
		return facts.Why{Reason: facts.ReasonReservationsChanged, Cause: text}, false
	}
	if r := f.admission.reserved; !f.admission.mayUse(now, i.Job, i.Host, i.Kind) {
		return facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: r.job.ID, Host: r.host.ID},
			Cause: fmt.Sprintf("the host is kept for job %d, an instance of which takes %d slots at once", r.job.ID, r.job.Needs.Slots)}, false
	}
	return facts.Why{}, false
}
