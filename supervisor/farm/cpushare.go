package farm

import (
	"slices"
	"time"

	"qb/smartshare"
	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
	"qb/supervisor/share/slottime"
)

// cpuShare orders jobs by the slot time that they and their users have had, where the site wants that.
type cpuShare struct {
	*shared
	admission *admission
	sharing   slottime.Sharing
	competing []*model.Job // that wait for slots which others have, as of the last plan
}

// charge settles an ended attempt.
func (cs *cpuShare) charge(now time.Time, i *model.Instance, end facts.EndAttempt) {
	wall := end.Wall
	if wall <= 0 && end.State != facts.Done {
		wall = max(0, now.Sub(i.Attempt.StartedAt).Seconds())
	}
	cs.sharing.Charge(i.Job, max(0, wall+end.Suspended-end.Released)*float64(i.Slots))
	if end.State == facts.Done {
		i.Job.Times.Add(wall)
	}
}

// compete lets jobs, and their users, into the sharing and out of it.
func (cs *cpuShare) compete(now time.Time) {
	if !cs.policy.CPUShare.On() {
		cs.sharing = slottime.Sharing{}
		return
	}
	cs.sharing.Admit(now, cs.policy.CPUShare, cs.sharers())
}

// sharers are all jobs, as the sharing sees them.
func (cs *cpuShare) sharers() []slottime.Job {
	all := make([]slottime.Job, 0, len(cs.jobs.ByID))
	for _, j := range cs.jobs.Sorted() {
		all = append(all, j)
	}
	return all
}

// rank orders a plan's jobs by their users' virtual time.
func (cs *cpuShare) rank(now time.Time, p *snapshot) {
	if cs.policy.CPUShare.Mode != "stride" {
		return // under the lottery chance decides
	}
	cs.sharing.VTimes(now, cs.policy.CPUShare, func(of slottime.Job, vtime float64) int {
		j := of.(*model.Job)
		if !p.has(j) {
			return 0
		}
		p.Jobs[j.Row].VTime = vtime
		if j.LacksPrimary() {
			return j.Needs.Slots
		}
		return 0
	})
}

// rankSupposed gives the row of a job that is not one of the farm's the virtual time with which it would come, and
// returns the virtual times that other jobs would then have, by their rows.
func (cs *cpuShare) rankSupposed(now time.Time, p *snapshot, j *model.Job) map[int]float64 {
	if cs.policy.CPUShare.Mode != "stride" {
		return nil
	}
	moved := map[int]float64{}
	cs.sharing.Joining(now, cs.policy.CPUShare, j, cs.sharers(), func(of slottime.Job, vtime float64) int {
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
func (cs *cpuShare) noteCompeting(p *snapshot, b planner.Plan) {
	cs.competing = cs.competing[:0]
	if !cs.policy.CPUShare.On() {
		return
	}
	for _, n := range b.Order {
		j, jp := p.jobs[n], b.Jobs[n]
		if j.Limit != nil {
			continue // its weight is no share of slot time
		}
		if w := p.Jobs[n].Weight; w > 0 {
			cs.sharing.Weigh(j, w)
		}
		j.SlotShare.Bucket, j.SlotShare.Points = smartshare.FairshareBucket(p.Jobs[n].Fairshare), p.Jobs[n].Points
		if j.Pending() > 0 && jp.Primary+jp.Secondary < jp.Ceiling && len(cs.competing) < competingKept {
			cs.competing = append(cs.competing, j)
		}
	}
}

// competitor is a job that may take a slot at the end of another's item, and as what.
type competitor struct {
	job  *model.Job
	kind facts.Kind
}

// competitors are the waiting jobs of equal rank that could use the instance's slot without upsetting the
// equal counts: a primary's slot goes to a job that lacks a primary, a secondary's to a job that has fewer
// secondaries.
func (cs *cpuShare) competitors(now time.Time, i *model.Instance) []competitor {
	var found []competitor
	h := i.Host
	_, secondaries, _ := i.Job.Counts()
	for _, j := range cs.competing {
		if j == i.Job || cs.jobs.ByID[j.ID] != j || !j.WantsInstances() || !cs.admission.equals(i.Job, j, h) ||
			j.Needs.Slots != i.Slots || j.Needs.Idle {
			continue
		}
		primary, secondary, _ := j.Counts()
		kind := j.NextKind()
		if kind == facts.Secondary && (i.Kind == facts.Primary || secondary >= secondaries ||
			primary+secondary >= j.Width(&cs.policy.Share)) {
			continue
		}
		if !h.Refusal(now, j, i).Serves() || !cs.admission.mayUse(now, j, h, kind) ||
			cs.admission.startable(j.Needs, h) == 0 || !cs.admission.mayHold(j, i) || !cs.admission.seated(j, h) ||
			(h.Limited() && cs.admission.needOn(j, h, i.Slots) > h.Ledger(i)) {
			continue
		}
		found = append(found, competitor{j, kind})
	}
	return bestOfEach(found)
}

// bestOfEach leaves of each owner's jobs those of the best priority: where fairshare ranks owners, jobs of several
// stand equal to another's.
func bestOfEach(found []competitor) []competitor {
	best := map[string]int{}
	for _, c := range found {
		if p, known := best[c.job.User]; !known || c.job.Standing() < p {
			best[c.job.User] = c.job.Standing()
		}
	}
	return slices.DeleteFunc(found, func(c competitor) bool { return c.job.Standing() > best[c.job.User] })
}

// equals says whether two jobs stand equal on a host, so that only slot time orders them: what comes before
// it in the order decides else, and would give the slot back.
func (ad *admission) equals(a, b *model.Job, h *model.Host) bool {
	x, y := ad.dispatchKeys(a, b, h)
	return x == y && a.SlotShare.Bucket == b.SlotShare.Bucket && a.SlotShare.Points == b.SlotShare.Points
}

// contested says whether slots may go to other jobs at the end of items.
func (cs *cpuShare) contested() bool { return cs.policy.CPUShare.On() && len(cs.competing) > 0 }

// yieldSlot gives the slot of an instance whose item has ended to a job that had less slot time, or whose user had. If
// its program is loaded the slot is not free yet, and a plan gives it to the job when it is.
func (f *Farm) yieldSlot(now time.Time, i *model.Instance, loaded bool) bool {
	if !f.cpuShare.contested() || i.Job.Pending() == 0 {
		return false
	}
	competitors := f.cpuShare.competitors(now, i)
	if len(competitors) == 0 {
		return false
	}
	jobs, a := make([]slottime.Job, len(competitors)), i.Attempt
	for n, r := range competitors {
		jobs[n] = r.job
	}
	next := f.cpuShare.sharing.Next(now, f.policy.CPUShare, i.Job, jobs, i.Slots, uint64(a.Job), uint64(a.Item),
		uint64(a.Number))
	if next < 0 {
		return false
	}
	f.close(i)
	if loaded {
		f.programs.keep(now, i, planner.InstanceLeaves)
		return true
	}
	f.startInstance(now, competitors[next].job, i.Host, competitors[next].kind, i.Slots)
	return true
}
