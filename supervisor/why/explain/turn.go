package explain

import (
	"fmt"
	"maps"

	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// turn says what a job that finds all slots taken has, and by what rule it gets more.
func (w one) turn() string {
	j, p := w.j, w.Policy.Share
	disabled := p.Preempt == "disabled" && w.othersSurplus() > 0
	if j.Primary < j.CPUs {
		text := fmt.Sprintf("this job has %d of its %d primaries and gets the next slots %s", j.Primary, j.CPUs,
			w.Policy.Turn)
		if disabled {
			text += "; no secondary is stopped for it while supervisor_smart_share_preempt_policy is disabled"
		}
		return text
	}
	how, share := "surplus slots are shared equally", "equal share of the surplus"
	switch p.SharedBy(w.Policy.Fairshare) {
	case facts.ShareByUser:
		how, share = fmt.Sprintf("surplus slots are shared by user, then by job: %s has %d, this job %d of them", j.User,
			w.surplusOf(j.User), j.Secondary), ""
	case facts.ShareByFairshare:
		how, share = "surplus slots are shared by the owners' fairshare factors",
			"share of the surplus by its owner's fairshare factor"
	}
	switch {
	case j.Due > j.Secondary:
		return fmt.Sprintf("%s; %s due to this job and it has %d, the others come %s", how, are(j.Due, "secondary instance"),
			j.Secondary, w.dueWhen())
	case disabled:
		return fmt.Sprintf("%s as they get free, and this job has %d; none is taken back while supervisor_smart_share_preempt_policy is disabled", how, j.Secondary)
	case share == "":
		return how
	}
	return fmt.Sprintf("this job already has its %s (%s)", share, facts.Several(j.Secondary, "instance"))
}

// dueWhen says what the secondaries wait for that others are to give up.
func (x *Explainer) dueWhen() string {
	switch wait := x.ReplanAt.Sub(x.Now); {
	case x.Policy.Share.Preempt != "aggressive":
		return "at the end of items (supervisor_smart_share_preempt_policy is " + x.Policy.Share.Preempt + ")"
	case !x.ReplanAt.IsZero():
		x.passing = true
		return fmt.Sprintf("in about %.0f s (supervisor_smart_share_min_run and _settle)", max(0, wait.Seconds()))
	}
	return "as soon as those that give way have ended"
}

// othersSurplus counts the slots that fit the job and that secondaries of other jobs hold.
func (w one) othersSurplus() int {
	all := w.holders()
	n := all.sums[len(all.jobs)].slots[Secondary]
	if own, found := all.of(w.j); found {
		n -= own.slots[Secondary]
	}
	return n
}

// addSharing adds the rule by which the surplus is divided, if it is not the usual one, and how it applies to the
// users.
func (x *Explainer) addSharing(j *Job, add func(kind, format string, args ...any)) {
	p := x.Policy.Share
	if p.Mode == "none" || j.Width <= j.CPUs {
		return
	}
	if p.ByUser() {
		users := map[string]bool{}
		for n := range x.Jobs {
			if other := &x.Jobs[n]; other.State == facts.Active && other.remaining() > 0 {
				users[other.User] = true
			}
		}
		add("sharing", "by user, then by job: %s has %d of the surplus instances, %d users have work (supervisor_smart_share_mode)",
			j.User, x.surplusOf(j.User), len(users))
	}
	if x.Policy.Fairshare {
		add("sharing", "by the owners' fairshare factors too: a heavier past weighs less (supervisor_smart_share_weights)")
	}
}

// surplusOf counts the secondary instances of a user's jobs.
func (x *Explainer) surplusOf(user string) int {
	if x.surplus == nil {
		x.surplus = map[string]int{}
		for n := range x.Jobs {
			x.surplus[x.Jobs[n].User] += x.Jobs[n].Secondary
		}
	}
	return x.surplus[user]
}

// memoryText tells where a job's need of memory comes from.
func (j *Job) memoryText() string {
	text := fmt.Sprintf("an instance needs %s", units.Size(j.Learned))
	if j.Memory > 0 {
		text += fmt.Sprintf(", %s were asked for", units.Size(j.Memory))
	}
	switch p := j.FromProfile; {
	case p.MemorySet:
		text += fmt.Sprintf(", its profile was set to %s", units.Size(p.Memory))
	case p.Memory > 0:
		text += fmt.Sprintf(", its profile knows %s from %s", units.Size(p.Memory), facts.Several(p.Items, "item"))
	}
	if n := j.MemoryUse.Returned; n > 0 {
		text += fmt.Sprintf(", the largest of %d items that returned had %s", n, units.Size(j.MemoryUse.LargestPeak))
	}
	if n := j.MemoryUse.RanOut; n > 0 {
		text += fmt.Sprintf(", %d ran out of memory", n)
	}
	return text
}

// usedUp says who has what a job lacks on all hosts that fit.
func (w one) usedUp() answer {
	name := w.g.lacks
	var most *Host
	held := map[facts.JobID]int64{}
	for _, h := range w.g.fitting {
		if most == nil || h.left(name) > most.left(name) {
			most = h
		}
		for _, i := range h.Instances {
			if n := i.Holds[name]; n > 0 {
				held[i.Job] += n
			}
		}
	}
	a := because(facts.ReasonResourceUsedUp, facts.Params{Resource: name},
		fmt.Sprintf("no host that fits has %s left", fit.Quantity(name, w.j.Takes[name]))).
		hint(w.advice()).and(fmt.Sprintf("the most left is %s on %s", fit.Amount(name, most.left(name)), most.ID))
	if len(held) > 0 && len(held) <= namedHolders {
		for _, other := range w.sorted(maps.Keys(held)) {
			who := fmt.Sprintf("job %d holds %s", other.ID, fit.Amount(name, held[other.ID]))
			if other == w.j {
				who = "this job holds " + fit.Amount(name, held[other.ID])
			}
			a = a.and(who)
		}
	}
	return a
}
