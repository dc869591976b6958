package farm

import (
	"math"
	"time"

	"qb/supervisor/farm/items"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
)

// refreshNeed works out what the job's next instance needs. What was learned is capped at what the largest
// host that serves the job can offer, unless that would be less than was seen: such a job waits for memory,
// as one does that asks for too much.
func (ad *admission) refreshNeed(now time.Time, j *model.Job) {
	j.Learned = ad.profiles.Estimate(now, j.ProfileKey())
	if j.Needs.Memory == 0 && j.Memory.Empty() && j.Learned.Memory == 0 {
		j.MemoryNeed = 0
		return
	}
	next, _ := j.Tally.NextPending()
	policy := ad.policy.Memory
	policy.Trim = policy.Trim && !j.HardLimit() // the limit would come down with the need
	need, least := j.Memory.Learned(policy, j.Needs.Memory, facts.ItemNo(next))
	need = max(need, j.LearnedMemory())
	if need > j.Needs.Memory && need > ad.leastMemory/2 {
		whole, offer := ad.largestHost(now, j)
		if need > offer && offer >= least {
			need = offer
		}
		need = max(j.Needs.Memory, min(need, whole))
	}
	j.MemoryNeed = need
}

// largestHost is the memory of the largest host that serves the job in all but memory, and the most that
// one of them can offer now besides what others than the farm use of it; both without limit where a host
// did not say, or while none is known.
func (ad *admission) largestHost(now time.Time, j *model.Job) (whole, offer int64) {
	modest := *j
	modest.Needs.Memory, modest.MemoryNeed = 0, 0
	for _, h := range ad.hosts.ByID {
		if h.State(now, ad.policy) == "lost" || !h.Serves(now, &modest) {
			continue
		}
		if !h.Limited() {
			return math.MaxInt64, math.MaxInt64
		}
		whole, offer = max(whole, h.Memory), max(offer, h.Offer())
	}
	if whole == 0 {
		return math.MaxInt64, math.MaxInt64
	}
	return whole, offer
}

// outOfMemory says what becomes of an item that was killed for memory: it is tried again with twice as
// much, unless it had all that the largest host has.
func (ad *admission) outOfMemory(now time.Time, i *model.Instance, r message.ReportedEnd, end *facts.EndAttempt) {
	end.State, end.Again = facts.Failed, facts.ByItself
	reason, params := facts.ReasonOutOfMemory, facts.Params{}
	if i.Job.HardLimit() && i.Attempt.Memory > 0 && r.Limit {
		reason, params.Limit = facts.ReasonMemoryLimit, i.Attempt.Memory
	}
	out := items.OutAt(i.Attempt.Memory, r.Peak, reason)
	whole, offer := ad.largestHost(now, i.Job)
	// Where others than the farm have more than half of the largest host it may yet get more.
	if more := items.Notably(out); more > whole || (more > offer && out >= whole/2) || i.Tries() >= model.MaxAttempts {
		end.Again = facts.Never
		params.Largest = whole
		params.Offer = offer
	}
	end.Why = facts.Because(reason, params, r.Reason)
}

// learnMemory takes in how an attempt ended, and what that means for the instances to come.
func (pl *planning) learnMemory(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j := i.Job
	j.Memory.Learn(i.Attempt.Item, end.State, end.Reason, i.Attempt.Memory, end.Peak)
	before := j.MemoryNeed
	pl.admission.refreshNeed(now, j)
	if j.MemoryNeed < before && len(pl.waitingForMemory) > 0 {
		pl.planStale = true
	}
	if end.State == facts.Failed && end.Reason.OutOfMemory() {
		pl.counts.OutOfMemory++
		pl.out.Record(now, facts.EventFacts{Type: "out-of-memory", Job: j.ID, Item: i.Attempt.Item, Instance: i.Number,
			Host: i.Host.ID, Why: end.Why})
	}
}

// promise is the memory that the instance's next attempt is promised, in the commit that starts it. An
// instance that goes on keeps its promise; a need that rose must fit, else the instance closes.
func (pl *planning) promise(now time.Time, i *model.Instance) (int64, bool) {
	if i.Attempt.Number == 0 {
		return pl.admission.needOn(i.Job, i.Host, i.Slots), pl.admission.fitsMemory(now, i.Job, i.Host, i.Slots)
	}
	if len(i.Job.Memory.Raised) > 0 || pl.profiles.Estimate(now, i.Job.ProfileKey()).Memory > i.Job.Learned.Memory {
		pl.admission.refreshNeed(now, i.Job)
	}
	need, old := i.Job.MemoryNeed, i.Attempt.Memory
	switch {
	case need == 0 || !i.Host.Limited():
		return max(need, old), true
	case need <= old:
		pl.planStale = pl.planStale || (need < old && len(pl.waitingForMemory) > 0)
		return need, true
	}
	return need, need <= i.Host.Ledger(i)
}
