package farm

import (
	"fmt"
	"maps"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
)

// drain lets the instance go at its item's end. Which instances those are is decided anew by every plan, so
// the history hears of each attempt's drain, and of its being taken back, once.
func (f *Farm) drain(now time.Time, i *instance, why facts.Why) {
	i.draining = true
	i.recount()
	if i.drainRecorded == i.attempt.AttemptID {
		return
	}
	if f.out.Spent() {
		f.drainUnrecorded = true
		return
	}
	i.drainRecorded = i.attempt.AttemptID
	f.recordOf(now, i, facts.EventFacts{Type: "draining", Why: why})
}

// undrained tells of an instance that was to leave and stays.
func (f *Farm) undrained(now time.Time, i *instance) {
	if i.stopping() || i.leaving || i.stayRecorded == i.attempt.AttemptID {
		return
	}
	if f.out.Spent() {
		return // where so much moves at once, the history can do without it
	}
	i.stayRecorded = i.attempt.AttemptID
	f.recordOf(now, i, facts.EventFacts{Type: "kept", Why: facts.Because(facts.ReasonSlotNotNeeded, facts.Params{}, "")})
}

// recordOf writes a line of history about an instance and its item.
func (f *Farm) recordOf(now time.Time, i *instance, e facts.EventFacts) {
	e.Job, e.Item, e.Instance, e.Host = i.job.ID, i.attempt.Item, i.number, i.host.ID
	f.out.Record(now, e)
}

// drains says whether the policy lets an instance drain rather than stops it, and adds to the cause why it does
// where it could have been stopped.
func (i *instance) drains(now time.Time, p *planned, most time.Duration, why *facts.Why) bool {
	lost := now.Sub(i.attempt.StartedAt)
	switch {
	case p.Policy.Preempt == "passive":
	case i.protected():
		why.Cause += fmt.Sprintf("; its item was preempted %d times and ends first", i.job.Preempted[i.attempt.Item])
	case most > 0 && lost > most:
		why.Cause += fmt.Sprintf("; stopping it would lose %.0f s, more than supervisor_smart_share_max_lost = %.0f s, so its item ends first",
			lost.Seconds(), most.Seconds())
	default:
		return false
	}
	return true
}

// reasonToClose says why an instance whose item has ended may not go on; without a cause it may. known says that the
// history has the reason already: of a drain, a person's order, or the job's own end.
func (f *Farm) reasonToClose(now time.Time, i *instance) (why facts.Why, known bool) {
	switch {
	case i.draining, i.leaving, i.job.State != facts.Active:
		return facts.Why{Cause: "it was to leave"}, true
	case i.protected() && i.kind == facts.Secondary && f.policy.Share.Preempt != "disabled": // plans have counted it as its job's in any case
		return facts.Why{Cause: "its slot is divided anew"}, true
	case i.expired(now):
		return facts.Why{Reason: facts.ReasonTimeLimitReached, Params: facts.Params{Limit: int64(i.job.TimeLimit)}, Cause: fmt.Sprintf("it has run for its timelimit of %d s", i.job.TimeLimit)}, false
	case !i.host.usable(now, f.policy):
		return facts.Why{Reason: facts.ReasonHostUnavailable, Cause: "the host takes no work now"}, false
	case i.host.used > i.host.Slots: // its worker was restarted with fewer: what runs ends by itself, and nothing follows
		return facts.Why{Reason: facts.ReasonSlotsLowered, Cause: fmt.Sprintf("the host has %s now, and %d are taken", facts.Several(i.host.Slots, "slot"), i.host.used)}, false
	case i.host.used > i.host.offered():
		return facts.Why{Reason: facts.ReasonForeignCPU, Cause: i.host.awayText()}, false
	}
	if i.job.limit == nil {
		i.job.limit = f.usage.accounts.Exhausted(now, i.job.payer())
	}
	if i.job.waitsForBudget(&f.policy.Share) {
		return i.job.limit.Why(), false
	}
	if why := i.host.refuses(now, i.job, i); !why.Serves() {
		return facts.Why{Reason: why.Kind, Cause: "the host serves the job no longer: " + why.String()}, false
	}
	if text := i.outgrown(); text != "" {
		return facts.Why{Reason: facts.ReasonReservationsChanged, Cause: text}, false
	}
	if r := f.admission.reserved; !f.admission.mayUse(now, i.job, i.host, i.kind) {
		return facts.Why{Reason: facts.ReasonKeptForJob, Params: facts.Params{Job: r.job.ID, Host: r.host.ID},
			Cause: fmt.Sprintf("the host is kept for job %d, an instance of which takes %d slots at once", r.job.ID, r.job.needs.Slots)}, false
	}
	return facts.Why{}, false
}

// outgrown says that the job's reservations were changed since the instance took its share, "" if they were
// not: slots and devices are taken when an instance starts, so it is another one that must take the next item.
func (i *instance) outgrown() string {
	n := i.job.needs
	most := max(n.Slots, n.Most)
	switch {
	case i.slots < n.Slots || (n.Most != agenda.Unlimited && i.slots > most):
		return fmt.Sprintf("the job's reservations were changed: the instance has %s", facts.Several(i.slots, "slot"))
	case !maps.Equal(i.attempt.Holds, n.Takes):
		return "the job's reservations were changed: the instance holds other resources"
	}
	return ""
}
