package farm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/fit"
	"qb/supervisor/planner"
)

// noteDue keeps how many secondaries the balance gives each job that has fewer: they come as slots get free.
func (f *Farm) noteDue(p *planned, b planner.Plan) {
	clear(f.due)
	for n, jp := range b.Jobs {
		if jp.StartSecondary > 0 {
			f.due[p.jobs[n].ID] = jp.Secondary
		}
	}
}

// turnOf says what a job that finds all slots taken has, and by what rule it gets more.
func (f *Farm) turnOf(now time.Time, j *job, sight *sight) string {
	primary, secondary, _ := j.counts()
	disabled := f.policy.Share.Preempt == "disabled" && f.othersSurplus(j, sight) > 0
	if primary < j.CPUs {
		text := fmt.Sprintf("it has %d of its %d primaries and gets the next slots %s", primary, j.CPUs, f.turnText())
		if disabled {
			text += "; no secondary is stopped for it while supervisor_smart_share_preempt_policy is disabled"
		}
		return text
	}
	how, share := "surplus slots are shared equally", "equal share of the surplus"
	switch {
	case f.policy.Share.ByUser():
		how = fmt.Sprintf("surplus slots are shared by user, then by job: %s has %d, this job %d of them", j.User, f.surplusOnce(j.User, sight), secondary)
	case f.policy.Fairshare.Weights:
		how, share = "surplus slots are shared by the owners' fairshare factors", "share of the surplus by its owner's fairshare factor"
	}
	switch due := f.due[j.ID]; {
	case due > secondary:
		return fmt.Sprintf("%s; %s due to it and it has %d, the others come %s", how, are(due, "secondary instance"), secondary, f.dueWhen(now))
	case disabled:
		return fmt.Sprintf("%s as they get free, and it has %d; none is taken back while supervisor_smart_share_preempt_policy is disabled", how, secondary)
	case f.policy.Share.ByUser():
		return how
	}
	return fmt.Sprintf("it already has its %s (%s)", share, several(secondary, "instance"))
}

// dueWhen says what the secondaries wait for that others are to give up.
func (f *Farm) dueWhen(now time.Time) string {
	switch wait := f.replanAt.Sub(now); {
	case f.policy.Share.Preempt != "aggressive":
		return "at the end of items (supervisor_smart_share_preempt_policy is " + f.policy.Share.Preempt + ")"
	case !f.replanAt.IsZero():
		return fmt.Sprintf("in about %.0f s (supervisor_smart_share_min_run and _settle)", max(0, wait.Seconds()))
	}
	return "as soon as those that give way have ended"
}

// othersSurplus counts the slots that fit the job and that secondaries of other jobs hold.
func (f *Farm) othersSurplus(j *job, sight *sight) int {
	all := f.holdersFor(j, sight)
	n := all.sums[len(all.jobs)].slots[holdSecondary]
	if own, found := slices.BinarySearchFunc(all.jobs, j, compareHolders); found {
		n -= all.at(own).slots[holdSecondary]
	}
	return n
}

// usedUpReason says who has what a job lacks on all hosts that fit.
func (f *Farm) usedUpReason(j *job, s survey) string {
	name := s.lacks
	var most *host
	held := map[*job]int64{}
	for _, h := range s.fitting {
		if most == nil || h.Stock(name)-h.held(name) > most.Stock(name)-most.held(name) {
			most = h
		}
		for _, i := range h.instances {
			if n := i.attempt.Holds[name]; n > 0 {
				held[i.job] += n
			}
		}
	}
	text := fmt.Sprintf("too little of %s is left on all hosts that fit, an instance takes %s; the most left is %s on %s", name,
		fit.Amount(name, j.needs.Takes[name]), fit.Amount(name, most.Stock(name)-most.held(name)), most.ID)
	if len(held) > 0 && len(held) <= namedHolders {
		for _, other := range slices.SortedFunc(maps.Keys(held), compareHolders) {
			who := fmt.Sprintf("job %d holds %s", other.ID, fit.Amount(name, held[other]))
			if other == j {
				who = "its own instances hold " + fit.Amount(name, held[other])
			}
			text += ", " + who
		}
	}
	return text
}
