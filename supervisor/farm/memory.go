package farm

import (
	"math"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/items"
	"qb/supervisor/message"
	"qb/supervisor/model"
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

// largestHost is the memory of the largest host that serves the job but for its memory, and the most that
// one of them can offer now besides what others than the farm use of it; both without limit where a host
// did not say, or while none is known.
func (ad *admission) largestHost(now time.Time, j *model.Job) (whole, offer int64) {
	modest := *j
	modest.Needs.Memory, modest.MemoryNeed = 0, 0
	for _, h := range ad.hosts.ByID {
		if h.State(now, *ad.policy) == "lost" || !h.Serves(now, &modest) {
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
func (f *Farm) outOfMemory(now time.Time, i *model.Instance, r message.ReportedEnd, end *facts.EndAttempt) {
	end.State, end.Again = facts.Failed, facts.ByItself
	reason, params := facts.ReasonOutOfMemory, facts.Params{}
	if i.Job.HardLimit() && i.Attempt.Memory > 0 && r.Limit {
		reason, params.Limit = facts.ReasonMemoryLimit, i.Attempt.Memory
	}
	out := items.OutAt(i.Attempt.Memory, r.Peak, reason)
	whole, offer := f.admission.largestHost(now, i.Job)
	// Where others than the farm have more than half of the largest host it may yet get more.
	if more := items.Notably(out); more > whole || (more > offer && out >= whole/2) || i.Attempt.Number >= model.MaxAttempts {
		end.Again, params.Largest, params.Offer = facts.Never, whole, offer
	}
	end.Why = facts.Because(reason, params, r.Reason)
}

// learnMemory takes in how an attempt ended, and what that means for the instances to come.
func (f *Farm) learnMemory(now time.Time, i *model.Instance, end facts.EndAttempt) {
	j := i.Job
	j.Memory.Learn(i.Attempt.Item, end.State, end.Reason, i.Attempt.Memory, end.Peak)
	before := j.MemoryNeed
	f.admission.refreshNeed(now, j)
	if j.MemoryNeed < before && len(f.waitingForMemory) > 0 {
		f.planStale = true
	}
	if end.State == facts.Failed && end.Reason.OutOfMemory() {
		f.counts.OutOfMemory++
		f.out.Record(now, facts.EventFacts{Type: "out-of-memory", Job: j.ID, Item: i.Attempt.Item, Instance: i.Number, Host: i.Host.ID, Why: end.Why})
	}
}
