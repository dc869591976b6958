package farm

import (
	"math"
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/message"
	"qb/supervisor/planner"
)

// cpuShare is a job's place in the sharing of slot time: the wall time of its attempts times their slots.
type cpuShare struct {
	settled  float64 // slot seconds per weight of ended attempts, and where the job joined
	weight   float64 // 0 is 1
	contends bool    // it runs or waits, as of the last plan
	bucket   int     // of its owner's fairshare factor, and
	points   float64 // of the order multifactor, as of the last plan
}

func (s *cpuShare) per() float64 {
	if s.weight > 0 {
		return s.weight
	}
	return 1
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
	return j.Times.Seconds(oldest, quantile)
}

// vtime is the job's virtual time: what runs is charged in advance with its estimate.
func (j *job) vtime(now time.Time, quantile float64) float64 {
	slots := 0
	for _, i := range j.instances {
		if i.attempt.State.Live() {
			slots += i.slots
		}
	}
	if slots == 0 {
		return j.share.settled
	}
	return j.share.settled + float64(slots)*j.itemEstimate(now, quantile)/j.share.per()
}

// served is what the job has really had, without advance charges: where a newcomer joins.
func (j *job) served(now time.Time) float64 {
	var running time.Duration // slot time; whole numbers add up alike in any order
	for _, i := range j.instances {
		if i.attempt.State.Live() {
			running += time.Duration(i.slots) * max(0, now.Sub(i.attempt.StartedAt))
		}
	}
	return j.share.settled + running.Seconds()/j.share.per()
}

// chargeSlotTime settles an ended attempt.
func (i *instance) chargeSlotTime(now time.Time, end facts.EndAttempt) {
	wall := end.Wall
	if wall <= 0 && end.State != facts.Done {
		wall = max(0, now.Sub(i.attempt.StartedAt).Seconds())
	}
	i.job.share.settled += wall * float64(i.slots) / i.job.share.per()
	if end.State == facts.Done {
		i.job.Times.Add(wall)
	}
}

// compete lets jobs into the sharing and out of it: who comes, or comes back, starts level with the least
// of those that are in it. When sharing begins, all start level.
func (js *jobs) compete(now time.Time, p message.CPUSharePolicy) {
	if !p.On() {
		return
	}
	least, joining := math.Inf(1), []*job(nil)
	for _, j := range js.byID {
		switch active := j.State == facts.Active && j.remaining() > 0; {
		case !active:
			j.share.contends = false
		case j.share.contends:
			least = min(least, j.served(now))
		default:
			joining = append(joining, j)
		}
	}
	for _, j := range joining {
		own := j.served(now)
		if math.IsInf(least, 1) {
			j.share.settled -= own
		} else if own < least {
			j.share.settled += least - own
		}
		j.share.contends = true
	}
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
		if p.Jobs[n].Weight > 0 {
			j.share.weight = p.Jobs[n].Weight
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

// yieldSlot gives the slot of an instance whose item has ended to a job that had less slot time: under
// stride to the one with the least virtual time, if it is behind by more than one item of its own; under
// the lottery by chance.
func (f *Farm) yieldSlot(now time.Time, i *instance) bool {
	if !f.policy.CPUShare.On() || len(f.competing) == 0 || i.job.Pending() == 0 {
		return false
	}
	rivals := f.competitors(now, i)
	if len(rivals) == 0 {
		return false
	}
	own, turns, next := turnOf(now, f.policy.CPUShare, i.job), make([]smartshare.Turn, len(rivals)), -1
	for n, r := range rivals {
		turns[n] = turnOf(now, f.policy.CPUShare, r.job)
	}
	if a := i.attempt; f.policy.CPUShare.Mode == "lottery" {
		next = smartshare.Lottery(own, turns, f.policy.CPUShare.Seed, uint64(a.Job), uint64(a.Item), uint64(a.Number))
	} else {
		next = smartshare.Stride(own, turns, i.slots)
	}
	if next < 0 {
		return false
	}
	f.close(i)
	f.startInstance(now, rivals[next].job, i.host, rivals[next].kind, i.slots)
	return true
}

// turnOf is the job as the two rules see it.
func turnOf(now time.Time, p message.CPUSharePolicy, j *job) smartshare.Turn {
	t := smartshare.Turn{Known: j.Times.Count()}
	if t.Known > 0 {
		t.Item = j.itemEstimate(now, p.Quantile)
	}
	t.Weight = j.share.per()
	if p.Mode == "lottery" {
		t.Served = j.served(now)
	} else {
		t.VTime = j.vtime(now, p.Quantile)
	}
	return t
}
