package model

import (
	"math"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
	"qb/supervisor/share/slottime"
)

// cpuShare is a job's place in the sharing of slot time: the wall time of its attempts times their slots.
type cpuShare struct {
	slottime.Account
	Bucket int     // of its owner's fairshare factor, and
	Points float64 // of the order multifactor, as of the last plan
}

// itemEstimate is how long the job's next item is taken to run, in seconds: never less than its oldest has
// run by now.
func (j *Job) itemEstimate(now time.Time, quantile float64) float64 {
	oldest := 0.0
	for i := j.numbers.oldest; i != nil && now.Sub(i.Attempt.StartedAt).Seconds() > oldest; i = i.newer {
		if i.Attempt.State.Live() {
			oldest = max(oldest, i.Attempt.RanUntil(now).Seconds())
		}
	}
	if first := j.FirstSeconds(); j.Times.Count() == 0 && first > 0 {
		return max(first, oldest)
	}
	return j.Times.Seconds(oldest, quantile)
}

// Timed says whether anything is known of how long the job's items take.
func (j *Job) Timed() bool { return j.Times.Count() > 0 || j.FirstSeconds() > 0 }

// Advance is what runs, in slot seconds, each item charged in advance with its estimate.
func (j *Job) Advance(now time.Time, quantile float64) float64 {
	slots := 0
	for _, i := range j.Instances {
		if i.Attempt.State.Live() {
			slots += i.Slots
		}
	}
	if slots == 0 {
		return 0
	}
	return float64(slots) * j.itemEstimate(now, quantile)
}

// SlotTime is the slot time of what runs so far.
func (j *Job) SlotTime(now time.Time) (sum time.Duration) { // whole numbers add up alike in any order
	for _, i := range j.Instances {
		if i.Attempt.State.Live() {
			sum += time.Duration(i.Slots) * max(0, now.Sub(i.Attempt.StartedAt)-i.Attempt.ReleasedUntil(now))
		}
	}
	return sum
}

// statedKnown is as how many items that have returned a stated or learned time counts: the lottery need not try how
// long one takes.
const statedKnown = 2

// What the sharing of slot time sees of a job.
func (j *Job) Owner() string { return j.User }

func (j *Job) Share() *slottime.Account { return &j.SlotShare.Account }

func (j *Job) Active() bool { return j.State == facts.Active && j.Remaining() > 0 }

func (j *Job) NextItem(now time.Time, quantile float64) (seconds float64, known int) {
	known = j.Times.Count()
	if j.FirstSeconds() > 0 {
		known = max(known, statedKnown)
	}
	return j.itemEstimate(now, quantile), known
}

// HeldFor is how long the instance has its attempt, at most until the lease ended: what the worker did not say is
// taken to have run so long. Grace and margin come after that: they are the farm's patience, nothing runs in them.
// Released is for how long of that it had given back its slots.
func (i *Instance) HeldFor(now time.Time) (held, released float64) {
	if now.After(i.Granted) {
		now = i.Granted
	}
	held = accounting.Bounded(now.Sub(i.Attempt.StartedAt).Seconds())
	_, released = i.Attempt.SuspendedSeconds(now)
	return held, min(accounting.Bounded(released), held)
}

// Speed is the host's speed; 1 is the reference.
func (h *Host) Speed() float64 {
	if !(h.Spec > 0) || math.IsInf(h.Spec, 0) {
		return 1
	}
	return h.Spec
}

func (h *Host) Whole() fairshare.Resources {
	return fairshare.Resources{CPUs: float64(h.Slots), Memory: float64(max(h.Memory, 0)),
		GPUs: float64(h.Stock("host.gpus")), Scratch: float64(h.Stock("host.scratch"))}
}

// WaitsForBudget says that the job starts nothing until its payer is within the budget again. Where no job has
// secondaries, none can run on idle slots alone.
func (j *Job) WaitsForBudget(p *planner.SharePolicy) bool {
	return j.Limit != nil && (j.Limit.Beyond == accounting.BeyondWait || p.Mode == "none" || !j.HasAgenda())
}

// idleWeight is so small that all other jobs have what they want before a job of this weight has anything.
const idleWeight = 1e-9

// LimitJob makes the row of a job in a snapshot obey the budget of its payer: it starts nothing, or has secondaries
// alone, of what everybody else leaves.
func (j *Job) LimitJob(s *planner.SnapJob, p *planner.SharePolicy) {
	s.CPUs, s.MaxCPUs = j.CPUs, j.MaxCPUs
	switch {
	case j.Limit == nil:
	case j.WaitsForBudget(p):
		s.Remaining = j.Held()
	default:
		width := j.Width(p)
		s.CPUs = 0
		s.MaxCPUs = &width
		s.Weight = idleWeight
	}
}

func (j *Job) Payer() facts.Payer { return facts.Payer{Account: j.Account, Owner: j.User} }
