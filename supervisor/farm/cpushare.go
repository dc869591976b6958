package farm

import (
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/model"
	"qb/supervisor/planner"
	"qb/supervisor/slottime"
)

// chargeSlotTime settles an ended attempt.
func (f *Farm) chargeSlotTime(now time.Time, i *model.Instance, end facts.EndAttempt) {
	wall := end.Wall
	if wall <= 0 && end.State != facts.Done {
		wall = max(0, now.Sub(i.Attempt.StartedAt).Seconds())
	}
	f.sharing.Charge(i.Job, max(0, wall+end.Suspended-end.Released)*float64(i.Slots))
	if end.State == facts.Done {
		i.Job.Times.Add(wall)
	}
}

// compete lets jobs, and their users, into the sharing and out of it.
func (f *Farm) compete(now time.Time) {
	if !f.policy.CPUShare.On() {
		f.sharing = slottime.Sharing{}
		return
	}
	f.sharing.Admit(now, f.policy.CPUShare, f.sharers())
}

// sharers are all jobs, as the sharing sees them.
func (f *Farm) sharers() []slottime.Job {
	all := make([]slottime.Job, 0, len(f.jobs.ByID))
	for _, j := range f.jobs.Sorted() {
		all = append(all, j)
	}
	return all
}

// rankSharers orders a plan's jobs by their users' virtual time.
func (f *Farm) rankSharers(now time.Time, p *snapshot) {
	if f.policy.CPUShare.Mode != "stride" {
		return // under the lottery chance decides
	}
	f.sharing.VTimes(now, f.policy.CPUShare, func(of slottime.Job, vtime float64) int {
		j := of.(*model.Job)
		p.Jobs[j.Row].VTime = vtime
		if j.LacksPrimary() {
			return j.Needs.Slots
		}
		return 0
	})
}

// rankSupposed gives the row of a job that is not one of the farm's the virtual time with which it would come, and returns those that
// other jobs would then have, by their rows.
func (f *Farm) rankSupposed(now time.Time, p *snapshot, j *model.Job) map[int]float64 {
	if f.policy.CPUShare.Mode != "stride" {
		return nil
	}
	moved := map[int]float64{}
	f.sharing.Joining(now, f.policy.CPUShare, j, f.sharers(), func(of slottime.Job, vtime float64) int {
		o := of.(*model.Job)
		if o == j {
			p.Jobs[j.Row].VTime = vtime
		} else if p.Jobs[o.Row].VTime != vtime {
			moved[o.Row] = vtime
		}
		if o.LacksPrimary() {
			return o.Needs.Slots
		}
		return 0
	})
	return moved
}

// competingKept bounds the list of jobs that are asked at an item's end.
const competingKept = 1000

// noteCompeting remembers which jobs wait for slots that others have.
func (f *Farm) noteCompeting(p *snapshot, b planner.Plan) {
	f.competing = f.competing[:0]
	if !f.policy.CPUShare.On() {
		return
	}
	for _, n := range b.Order {
		j, jp := p.jobs[n], b.Jobs[n]
		if j.Limit != nil {
			continue // its weight is no share of slot time
		}
		if w := p.Jobs[n].Weight; w > 0 {
			f.sharing.Weigh(j, w)
		}
		j.SlotShare.Bucket, j.SlotShare.Points = smartshare.FairshareBucket(p.Jobs[n].Fairshare), p.Jobs[n].Points
		if j.Pending() > 0 && jp.Primary+jp.Secondary < jp.Ceiling && len(f.competing) < competingKept {
			f.competing = append(f.competing, j)
		}
	}
}

// competitor is a job that may take a slot at the end of another's item, and as what.
type competitor struct {
	job  *model.Job
	kind facts.Kind
}

// competitors are the waiting jobs of equal standing that could use the instance's slot without upsetting the
// equal counts: a primary's slot goes to a job that lacks a primary, a secondary's to one that has fewer
// secondaries.
func (f *Farm) competitors(now time.Time, i *model.Instance) []competitor {
	var found []competitor
	h := i.Host
	_, secondaries, _ := i.Job.Counts()
	for _, j := range f.competing {
		if j == i.Job || f.jobs.ByID[j.ID] != j || !j.WantsInstances() || !f.admission.equals(i.Job, j, h) || j.Needs.Slots != i.Slots || j.Needs.Idle {
			continue
		}
		primary, secondary, _ := j.Counts()
		kind := j.NextKind()
		if kind == facts.Secondary && (i.Kind == facts.Primary || secondary >= secondaries || primary+secondary >= j.Width(&f.policy.Share)) {
			continue
		}
		if !h.Refusal(now, j, i).Serves() || !f.admission.mayUse(now, j, h, kind) || f.admission.startable(j.Needs, h) == 0 || !f.admission.mayHold(j, i) || !f.admission.seated(j, h) ||
			(h.Limited() && f.admission.needOn(j, h, i.Slots) > h.Ledger(i)) {
			continue
		}
		found = append(found, competitor{j, kind})
	}
	return found
}

// equals says whether two jobs stand equal on a host, so that only slot time orders them: what comes before
// it in the order decides else, and would give the slot back.
func (ad *admission) equals(a, b *model.Job, h *model.Host) bool {
	return ad.dispatchKey(a, h) == ad.dispatchKey(b, h) && a.SlotShare.Bucket == b.SlotShare.Bucket && a.SlotShare.Points == b.SlotShare.Points
}

// yieldSlot gives the slot of an instance whose item has ended to a job that had less slot time, or whose user had.
func (f *Farm) yieldSlot(now time.Time, i *model.Instance) bool {
	if !f.policy.CPUShare.On() || len(f.competing) == 0 || i.Job.Pending() == 0 {
		return false
	}
	competitors := f.competitors(now, i)
	if len(competitors) == 0 {
		return false
	}
	jobs, a := make([]slottime.Job, len(competitors)), i.Attempt
	for n, r := range competitors {
		jobs[n] = r.job
	}
	next := f.sharing.Next(now, f.policy.CPUShare, i.Job, jobs, i.Slots, uint64(a.Job), uint64(a.Item), uint64(a.Number))
	if next < 0 {
		return false
	}
	f.close(i)
	f.startInstance(now, competitors[next].job, i.Host, competitors[next].kind, i.Slots)
	return true
}
