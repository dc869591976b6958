package farm

import (
	"fmt"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// applyStops takes instances back as the plan says.
func (f *Farm) applyStops(now time.Time, a *rollout) bool {
	p, b := a.p, a.b
	if !a.started {
		a.started = true
		f.replanAt = time.Time{}
		a.takeBackDrains()
		for _, n := range b.Leaving {
			f.drain(now, p.instances[n], facts.Because(facts.ReasonNoItemsLeft, facts.Params{}, ""))
		}
		a.shrinks = map[*model.Job]bool{}
	}
	for ; a.next < len(b.Stops); a.next++ {
		if f.out.Spent() {
			return false
		}
		f.applyStop(now, a, &b.Stops[a.next])
	}
	for j := range a.shrinks {
		j.LastShrink = now
	}
	return true
}

func (f *Farm) applyStop(now time.Time, a *rollout, s *planner.PlannedStop) {
	i := a.p.instances[s.Instance]
	if !i.Attached() || i.Stopping() { // something has happened since the plan
		return
	}
	f.doing.job = i.Job.ID
	why := f.planning.stopReason(i, a, s)
	switch {
	case s.Drain != planner.Stopped:
		why.Cause += f.planning.drainCause(now, i, s.Drain)
		f.drain(now, i, why)
		if s.ForGood {
			i.ForGood = true // the next plan gives the room that was meant for that start to others
			i.Touch()
		}
	case s.NotBefore > 0:
		f.replanSoon(model.TimeOf(s.NotBefore))
	default:
		a.shrinks[i.Job] = true
		f.stop(now, i, why)
	}
}

// takeBackDrains lets all instances stay that drain; the plan says again which do.
func (a *rollout) takeBackDrains() {
	for n, j := range a.p.jobs {
		if j.Parts[model.RoleDraining] == 0 {
			continue
		}
		for _, i := range a.p.instances[a.p.rows[n].first:a.p.rows[n].after] {
			if i.Draining {
				a.drained = append(a.drained, i)
				i.Draining = false
				i.Recount()
			}
		}
	}
}

// stopReason is why an instance gives way.
func (pl *planning) stopReason(i *model.Instance, a *rollout, s *planner.PlannedStop) facts.Why {
	switch s.Why {
	case planner.WidthLowered:
		return facts.Because(facts.ReasonWidthLowered,
			facts.Params{Job: i.Job.ID, Limit: int64(a.b.Jobs[a.p.Running[s.Instance].Job].Ceiling)}, "")
	case planner.LimitExceeded:
		if over := i.Job.Exceeded(); over != nil {
			return over.Why()
		}
	case planner.PrimaryWaits:
		return facts.Because(facts.ReasonPrimaryWaits, facts.Params{Job: a.p.jobs[s.For].ID}, "")
	}
	shared := facts.Params{Share: a.p.Policy.SharedBy(pl.policy.Fairshare.Weights)}
	if s.For >= 0 {
		shared.Job, shared.User = a.p.jobs[s.For].ID, a.p.jobs[s.For].User
	}
	return facts.Because(facts.ReasonSurplusShared, shared, "")
}

// drainCause says why an instance ends after its item where the policy would have it stopped.
func (pl *planning) drainCause(now time.Time, i *model.Instance, why planner.DrainWhy) string {
	switch why {
	case planner.ItemProtected:
		return fmt.Sprintf("; its item was preempted %d times and ends first", i.Job.Preempted[i.Attempt.Item])
	case planner.LosesTooMuch:
		return fmt.Sprintf("; stopping it would lose %.0f s, more than supervisor_smart_share_max_lost = %.0f s, so its item ends first",
			i.Attempt.RanUntil(now).Seconds(), pl.policy.MaxLost.Seconds())
	}
	return ""
}
