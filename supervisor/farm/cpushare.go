package farm

import (
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
	"qb/supervisor/slottime"
)

// cpuShare is a job's place in the sharing of slot time: the wall time of its attempts times their slots.
type cpuShare struct {
	slottime.Account
	bucket int     // of its owner's fairshare factor, and
	points float64 // of the order multifactor, as of the last plan
}

// itemEstimate is how long the job's next item is taken to run, in seconds: never less than its oldest has
// run by now.
func (j *job) itemEstimate(now time.Time, quantile float64) float64 {
	oldest := 0.0
	for _, i := range j.instances {
		if i.attempt.State.Live() {
			oldest = max(oldest, now.Sub(i.attempt.StartedAt).Seconds())
		}
	}
	if j.Times.Count() == 0 && j.TimeEstimate > 0 {
		return max(float64(j.TimeEstimate), oldest)
	}
	return j.Times.Seconds(oldest, quantile)
}

// timed says whether anything is known of how long the job's items take.
func (j *job) timed() bool { return j.Times.Count() > 0 || j.TimeEstimate > 0 }

// Advance is what runs, in slot seconds, each item charged in advance with its estimate.
func (j *job) Advance(now time.Time, quantile float64) float64 {
	slots := 0
	for _, i := range j.instances {
		if i.attempt.State.Live() {
			slots += i.slots
		}
	}
	if slots == 0 {
		return 0
	}
	return float64(slots) * j.itemEstimate(now, quantile)
}

// SlotTime is the slot time of what runs so far.
func (j *job) SlotTime(now time.Time) (sum time.Duration) { // whole numbers add up alike in any order
	for _, i := range j.instances {
		if i.attempt.State.Live() {
			sum += time.Duration(i.slots) * max(0, now.Sub(i.attempt.StartedAt))
		}
	}
	return sum
}

// chargeSlotTime settles an ended attempt.
func (f *Farm) chargeSlotTime(now time.Time, i *instance, end facts.EndAttempt) {
	wall := end.Wall
	if wall <= 0 && end.State != facts.Done {
		wall = max(0, now.Sub(i.attempt.StartedAt).Seconds())
	}
	f.sharing.Charge(i.job, wall*float64(i.slots))
	if end.State == facts.Done {
		i.job.Times.Add(wall)
	}
}

// statedKnown is as how many items that have returned a stated time counts: the lottery need not try how long one takes.
const statedKnown = 2

// What the sharing of slot time sees of a job.
func (j *job) Owner() string            { return j.User }
func (j *job) Share() *slottime.Account { return &j.share.Account }
func (j *job) Active() bool             { return j.State == facts.Active && j.remaining() > 0 }
func (j *job) NextItem(now time.Time, quantile float64) (seconds float64, known int) {
	known = j.Times.Count()
	if j.TimeEstimate > 0 {
		known = max(known, statedKnown)
	}
	return j.itemEstimate(now, quantile), known
}

// compete lets jobs, and their users, into the sharing and out of it.
func (f *Farm) compete(now time.Time) {
	if !f.policy.CPUShare.On() {
		f.sharing = slottime.Sharing{}
		return
	}
	all := make([]slottime.Job, 0, len(f.jobs.byID))
	for _, j := range f.jobs.sorted() {
		all = append(all, j)
	}
	f.sharing.Admit(now, f.policy.CPUShare, all)
}

// rankSharers orders a plan's jobs by their users' virtual time.
func (f *Farm) rankSharers(now time.Time, p *planned) {
	if f.policy.CPUShare.Mode != "stride" {
		return // under the lottery chance decides
	}
	f.sharing.VTimes(now, f.policy.CPUShare, func(of slottime.Job, vtime float64) int {
		j := of.(*job)
		p.Jobs[j.row].VTime = vtime
		if j.lacksPrimary() {
			return j.needs.Slots
		}
		return 0
	})
}

// competingKept bounds the list of jobs that are asked at an item's end.
const competingKept = 1000

// noteCompeting remembers which jobs wait for slots that others have.
func (f *Farm) noteCompeting(p *planned, b planner.Plan) {
	f.competing = f.competing[:0]
	if !f.policy.CPUShare.On() {
		return
	}
	for _, n := range b.Order {
		j, jp := p.jobs[n], b.Jobs[n]
		if j.limit != nil {
			continue // its weight is no share of slot time
		}
		if w := p.Jobs[n].Weight; w > 0 {
			f.sharing.Weigh(j, w)
		}
		j.share.bucket, j.share.points = smartshare.FairshareBucket(p.Jobs[n].Fairshare), p.Jobs[n].Points
		if j.Pending() > 0 && jp.Primary+jp.Secondary < jp.Ceiling && len(f.competing) < competingKept {
			f.competing = append(f.competing, j)
		}
	}
}

// competitor is a job that may take a slot at the end of another's item, and as what.
type competitor struct {
	job  *job
	kind facts.Kind
}

// competitors are the waiting jobs of equal standing that could use the instance's slot without upsetting the
// equal counts: a primary's slot goes to a job that lacks a primary, a secondary's to one that has fewer
// secondaries.
func (f *Farm) competitors(now time.Time, i *instance) []competitor {
	var found []competitor
	h := i.host
	_, secondaries, _ := i.job.counts()
	for _, j := range f.competing {
		if j == i.job || f.jobs.byID[j.ID] != j || !j.wantsInstances() || !f.admission.equals(i.job, j, h) || j.needs.Slots != i.slots || j.needs.Idle {
			continue
		}
		primary, secondary, _ := j.counts()
		kind := facts.Primary
		if primary >= min(j.CPUs, j.remaining()) {
			kind = facts.Secondary
		}
		if kind == facts.Secondary && (i.kind == facts.Primary || secondary >= secondaries || primary+secondary >= j.width(&f.policy.Share)) {
			continue
		}
		if !h.refuses(now, j, i).Serves() || !f.admission.mayUse(now, j, h, kind) || f.admission.startable(j.needs, h) == 0 || f.admission.startable(j.needs, nil) == 0 ||
			(h.limited() && f.admission.needOn(j, h, i.slots) > h.ledger(i)) {
			continue
		}
		found = append(found, competitor{j, kind})
	}
	return found
}

// equals says whether two jobs stand equal on a host, so that only slot time orders them: what comes before
// it in the order decides else, and would give the slot back.
func (ad *admission) equals(a, b *job, h *host) bool {
	return ad.dispatchKey(a, h) == ad.dispatchKey(b, h) && a.share.bucket == b.share.bucket && a.share.points == b.share.points
}

// yieldSlot gives the slot of an instance whose item has ended to a job that had less slot time, or whose user had.
func (f *Farm) yieldSlot(now time.Time, i *instance) bool {
	if !f.policy.CPUShare.On() || len(f.competing) == 0 || i.job.Pending() == 0 {
		return false
	}
	rivals := f.competitors(now, i)
	if len(rivals) == 0 {
		return false
	}
	jobs, a := make([]slottime.Job, len(rivals)), i.attempt
	for n, r := range rivals {
		jobs[n] = r.job
	}
	next := f.sharing.Next(now, f.policy.CPUShare, i.job, jobs, i.slots, uint64(a.Job), uint64(a.Item), uint64(a.Number))
	if next < 0 {
		return false
	}
	f.close(i)
	f.startInstance(now, rivals[next].job, i.host, rivals[next].kind, i.slots)
	return true
}
