package farm

import (
	"fmt"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// drain lets the instance go at its item's end. Which instances those are is decided again by every plan, so
// the history hears of each attempt's drain, and of its being taken back, once.
func (f *Farm) drain(now time.Time, i *model.Instance, why facts.Why) {
	i.Draining = true
	i.Recount()
	f.ahead.handBack(i)
	if i.Recorded.Draining {
		return
	}
	if f.out.Spent() {
		f.planning.drainUnrecorded = true
		return
	}
	i.Recorded.Draining = true
	f.recordOf(now, i, facts.EventFacts{Type: "draining", Why: why})
}

// undrained tells of an instance that was to leave and stays.
func (f *Farm) undrained(now time.Time, i *model.Instance) {
	if i.Ending() || i.Recorded.Kept || f.out.Spent() {
		return // where so much moves at once that the commit is full, the history can do without it
	}
	i.Recorded.Kept = true
	f.recordOf(now, i, facts.EventFacts{Type: "kept", Why: facts.Because(facts.ReasonSlotNotNeeded, facts.Params{}, "")})
}

// itemEnd says which rules keep an instance whose item has ended from its job's next item. A budget of the payer that
// is used up by now becomes the job's limit.
func (f *Farm) itemEnd(now time.Time, i *model.Instance) (e planner.ItemEnd) {
	j, h := i.Job, i.Host
	if over := f.usage.accounts.Exhausted(now, j.Payer()); over != nil { // the job waits for this budget first
		j.Limit = over
		j.Noted()
	}
	e[planner.InstanceLeaves] = i.Draining || i.SentAway || j.State != facts.Active
	e[planner.SlotsReleased] = i.Released()
	e[planner.SlotPlannedAgain] = i.Protected() && i.Kind == facts.Secondary && f.policy.Share.Preempt != "disabled"
	e[planner.TimeLimitReached] = i.Expired(now)
	e[planner.HostTakesNoWork] = !h.Usable(now, f.policy)
	e[planner.HostOversubscribed] = h.Free() < 0
	e[planner.BudgetUsedUp] = j.WaitsForBudget(&f.policy.Share)
	e[planner.InstanceLimit] = j.Exceeded() != nil
	e[planner.ResourceOverused] = f.resources.overuse(i).Reason != ""
	e[planner.HostRefusesJob] = !h.Refusal(now, j, i).Serves()
	e[planner.RequestChanged] = i.Outgrown() != ""
	e[planner.HostReserved] = !f.admission.mayUse(now, j, h, i.Kind)
	return e
}

// takesNext says whether no rule keeps an instance from its job's next item.
func takesNext(end planner.ItemEnd) bool { return end.Rule() == planner.TakesNextItem }

// whyClosed is what the history says of an instance that closes by a rule; nothing where it has the reason already.
func (rs *resources) whyClosed(now time.Time, i *model.Instance, rule planner.EndRule) facts.Why {
	switch j, h := i.Job, i.Host; rule {
	case planner.TimeLimitReached:
		return facts.Why{Reason: facts.ReasonTimeLimitReached, Params: facts.Params{Limit: int64(j.TimeLimit)},
			Cause: fmt.Sprintf("the instance has run for its timelimit of %d s", j.TimeLimit)}
	case planner.HostTakesNoWork:
		return facts.Why{Reason: facts.ReasonHostUnavailable, Cause: "the host takes no work now"}
	case planner.HostOversubscribed:
		return whyOversubscribed(h)
	case planner.BudgetUsedUp:
		return j.Limit.Why()
	case planner.InstanceLimit:
		return j.Exceeded().Why()
	case planner.ResourceOverused:
		return rs.overuse(i)
	case planner.HostRefusesJob:
		refusal := h.Refusal(now, j, i)
		return facts.Why{Reason: refusal.Kind, Cause: "the host serves the job no longer: " + refusal.String()}
	case planner.RequestChanged:
		return facts.Why{Reason: facts.ReasonReservationsChanged, Cause: i.Outgrown()}
	case planner.HostReserved:
		to := rs.admission.reserved
		return facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: to.job.ID, Host: to.host.ID},
			Cause: fmt.Sprintf("the host is kept for job %d, an instance of which takes %d slots at once", to.job.ID,
				to.job.Needs.Slots)}
	}
	return facts.Why{}
}

// whyOversubscribed says why more slots of a host are taken than it offers.
func whyOversubscribed(h *model.Host) facts.Why {
	switch {
	case h.Used > h.Slots: // its worker was restarted with fewer
		return facts.Why{Reason: facts.ReasonSlotsLowered,
			Cause: fmt.Sprintf("the host has %s now, and %d are taken", facts.Several(h.Slots, "slot"), h.Used)}
	case h.Used > h.Offered():
		return h.WhyAway()
	}
	return facts.Because(facts.ReasonKeptForResumed, facts.Params{Host: h.ID}, "")
}
