package farm

import (
	"fmt"
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/fit"
)

// asks is what decides which hosts may run the job.
func (j *job) asks() *fit.Job {
	return &fit.Job{JobFacts: &j.JobFacts, Needs: j.needs, Learned: j.memoryNeed}
}

// load is what runs on the host but for one instance, which asks for itself; nil: for all.
type load struct {
	h      *host
	except *instance
}

// Used counts slots.
func (l load) Used() int {
	if l.except != nil {
		return l.h.used - l.except.slots
	}
	return l.h.used
}

// Unused is in bytes of memory.
func (l load) Unused() int64 { return l.h.unused() }

// Duty lists a property of the jobs that are on the host now.
func (l load) Duty(what string) []string {
	var list []string
	for _, i := range l.h.sortedInstances() {
		if i == l.except {
			continue
		}
		value := fmt.Sprint(i.job.ID)
		switch what {
		case "user":
			value = i.job.User
		case "name":
			value = i.job.Name
		}
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

// refuses says why the host does not serve the job. The instance except, if any, is looked at as not there.
func (h *host) refuses(now time.Time, j *job, except *instance) fit.Refusal {
	return j.asks().Refused(now, &h.Host, load{h, except})
}

// serves says whether the job may run on the host, whatever slots are taken now.
func (h *host) serves(now time.Time, j *job) bool { return h.refuses(now, j, nil).Serves() }

// grants is how many slots an instance would get on the host now, 0 if it cannot start there.
func (h *host) grants(n fit.Needs) int { return n.Grant(h.free(), h.used) }

// held is what live attempts on the host hold of a resource: always a count, never a counter.
func (h *host) held(name string) int64 {
	var sum int64
	for _, i := range h.instances {
		sum += i.attempt.Holds[name]
	}
	return sum
}

// left is what the live attempts on the host leave of a resource.
func (h *host) left(name string) int64 { return h.Stock(name) - h.held(name) }

// startable is how many more instances of the job the resources allow: on one host, or of the whole farm
// with host nil. A negative number is no bound.
func (ad *admission) startable(n fit.Needs, h *host) int {
	if h != nil {
		return n.Startable(true, h.left)
	}
	return n.Startable(false, func(name string) int64 {
		left := ad.policy.Resources[name]
		for _, other := range ad.hosts.byID {
			left -= other.held(name)
		}
		return left
	})
}

// readNeeds reads a job's requirements and reservations.
func (f *Farm) readNeeds(row facts.JobFacts, lenient bool) (fit.Needs, error) {
	return fit.Read(row, fit.Site{Known: f.hosts.known(), Order: f.siteOrder, Resources: f.policy.Resources, Lenient: lenient})
}

// takeSiteOrder gives the jobs that name no host order that of the policy.
func (f *Farm) takeSiteOrder() {
	f.siteOrder, _ = fit.SiteOrder(f.policy.HostOrder) // the configuration was refused otherwise
	for _, j := range f.jobs.byID {
		if j.HostOrder == "" {
			j.needs.Order = f.siteOrder
		}
	}
}
