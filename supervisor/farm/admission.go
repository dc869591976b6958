package farm

import (
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
)

// admission says what may start on a host now, beside what runs there and what is kept for others.
type admission struct {
	*shared
	// What follows is as of the last plan.
	reserved    *reservation // nil: no host is kept for a wide job
	viewpoint   string       // cluster from which it ranked jobs
	leastMemory int64        // of the smallest host; 0: one did not say, or there is none
}

// startable is how many more instances of the job the resources allow: on one host, or of the whole farm
// with host nil. A negative number is no bound.
func (ad *admission) startable(n fit.Needs, h *model.Host) int {
	if h != nil {
		return n.Startable(true, h.Left)
	}
	return n.Startable(false, func(name string) int64 {
		return ad.policy.Resources[name] - ad.held(name)
	})
}

// mayHold says whether the farm's resources, and the limits of the job's instances, allow another one, whether in place
// of a departing instance.
func (ad *admission) mayHold(j *model.Job, going *model.Instance) bool {
	return ad.startable(j.Needs, nil) != 0 && j.Full(going) == nil
}

// readNeeds reads a job's requirements and reservations.
func (f *Farm) readNeeds(row facts.JobFacts, lenient bool) (fit.Needs, error) {
	return fit.Read(row, fit.Site{Known: f.hosts.Known(), Order: f.siteOrder, Resources: f.policy.Resources,
		Lenient: lenient})
}

// takeSiteOrder gives the jobs that name no host order that of the policy.
func (f *Farm) takeSiteOrder() {
	f.siteOrder, _ = fit.SiteOrder(f.policy.HostOrder) // the configuration was refused otherwise
	for _, j := range f.jobs.ByID {
		if j.HostOrder == "" {
			j.Needs.Order = f.siteOrder
		}
	}
}

// needOn is what an instance of the job is promised on a host where it takes so many slots: its need, and
// before anything is known of it a slot's part of the host, at most the site's default.
func (ad *admission) needOn(j *model.Job, h *model.Host, slots int) int64 {
	if j.MemoryNeed > 0 || !h.Limited() {
		return j.MemoryNeed
	}
	return min(ad.policy.Memory.Default, h.Announce()*int64(max(1, slots)))
}

// fitsMemory says whether the ledger admits one more instance of the job.
func (ad *admission) fitsMemory(now time.Time, j *model.Job, h *model.Host, slots int) bool {
	if !h.Limited() {
		return true
	}
	if now.Before(h.FullUntil) {
		return false
	}
	need := ad.needOn(j, h, slots)
	return need <= h.Ledger(nil) && (need > 0 || ad.policy.Memory.Default == 0)
}
