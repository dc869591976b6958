package farm

import (
	"time"

	"qb/supervisor/job/facts"
)

// applyPreempted has instances give way to waiting primaries of better priority, as the plan says.
func (f *Farm) applyPreempted(now time.Time, a *rollout) bool {
	for ; a.next < len(a.b.Preempted); a.next++ {
		if f.out.Spent() {
			return false
		}
		y := a.b.Preempted[a.next]
		i, to := a.p.instances[y.Instance], a.p.jobs[y.For]
		if !i.Attached() || i.Stopping() { // something has happened since the plan
			continue
		}
		f.doing.job = to.ID
		why := facts.Because(facts.ReasonBetterPriority, facts.Params{Job: to.ID}, "")
		if y.Drain {
			f.drain(now, i, why)
		} else {
			f.stop(now, i, why)
		}
	}
	return true
}
