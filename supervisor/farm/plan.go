package farm

import (
	"cmp"
	"strconv"
	"time"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// planned is a snapshot with the way back from its indices to the farm.
type planned struct {
	planner.Snapshot
	jobs      []*job
	hosts     []*host
	instances []*instance
	keys      placeKeys
	allowed   map[string][]int       // eligible hosts by what the job asks for: see keys
	started   bool                   // something was
	awaited   []planner.PlannedStart // starts that are settled and wait for an end
	waiting   []planner.PlannedStart // those of primaries
	yielded   map[int]int            // by wide job: the host where others give way to it
	missed    bool                   // a start was not made for another reason
	stopped   bool                   // secondaries were
}

// Plan moves instances if something changed since the last plan and the least delay has passed. It is the
// only place where instances are started and given away for sharing. What one commit has no room for it leaves for the
// next call after that.
func (f *Farm) Plan(now time.Time) {
	defer f.ownWork()()
	f.carryOn(now)
	f.carryOrders(now)
	switch {
	case f.spent():
		return
	case f.applying != nil && !f.dirty:
		f.apply(now, f.applying)
		return
	case !f.dirty, !f.lastPlan.IsZero() && now.Sub(f.lastPlan) < f.policy.PlanDelay && !f.urgent:
		return
	}
	f.lastPlan = now
	f.dirty = false
	f.counts.Plans++
	p := f.plan(now)
	f.apply(now, &application{p: p, b: planner.Balance(p.Snapshot)})
}

// PlanDue is when the shell should call Plan next: zero if nothing is to be planned.
func (f *Farm) PlanDue() time.Time {
	switch {
	case f.applying != nil && !f.dirty:
		return f.lastPlan
	case f.dirty:
		return f.lastPlan.Add(f.policy.PlanDelay)
	default:
		return f.replanAt
	}
}

// Snapshot is the farm as `qb plan` reads it.
func (f *Farm) Snapshot(now time.Time) planner.Snapshot {
	return f.plan(now).Snapshot
}

func (f *Farm) plan(now time.Time) *planned {
	f.refreshNeeds(now)
	f.contend(now)
	p := &planned{keys: f.placeKeys(), allowed: map[string][]int{}}
	p.instances, p.Running = make([]*instance, 0, f.instances), make([]planner.SnapInstance, 0, f.instances)
	p.hosts, p.Hosts = make([]*host, 0, len(f.hosts)), make([]planner.SnapHost, 0, len(f.hosts))
	p.jobs, p.Jobs = make([]*job, 0, len(f.jobs)), make([]planner.SnapJob, 0, len(f.jobs))
	f.books.standing = nil
	f.viewpoint = f.cluster()
	p.Now, p.Policy, p.Cluster = seconds(now), f.policy.Share, f.viewpoint
	for _, h := range f.sortedHosts() {
		h.place = len(p.hosts)
		sums := h.summed()
		p.hosts = append(p.hosts, h)
		p.Hosts = append(p.Hosts, planner.SnapHost{
			Name: string(h.ID), Slots: h.Slots - sums.extra, Memory: h.memoryForPlan(), Tags: h.Groups, Cluster: h.Cluster, Up: h.usable(now, f.policy),
			Ending: sums.ending, EndingMemory: h.endingMemory(),
		})
	}
	for _, j := range f.sortedJobs() {
		if j.State == facts.Active && j.remaining() > 0 {
			f.planJob(now, p, j)
		}
	}
	f.planResources(p)
	f.instances = len(p.instances) + len(p.instances)/8
	return p
}

// cluster is where jobs are ranked from while the hosts do not tell them apart: the one that all hosts are
// in, else the site's default. Hosts of several clusters rank the jobs each for itself.
func (f *Farm) cluster() string {
	one := ""
	for _, h := range f.hosts {
		switch {
		case one == "":
			one = h.Cluster
		case one != h.Cluster:
			return f.policy.DefaultCluster
		}
	}
	return cmp.Or(one, f.policy.DefaultCluster)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (f *Farm) planJob(now time.Time, p *planned, j *job) {
	at := len(p.jobs)
	p.jobs = append(p.jobs, j)
	p.Jobs = append(p.Jobs, planner.SnapJob{
		ID: strconv.FormatInt(int64(j.ID), 10), Num: int64(j.ID), User: j.User, Priority: j.Priority, Submit: int64(j.ID), Cluster: j.Cluster,
		CPUs: j.CPUs, MaxCPUs: j.MaxCPUs, Remaining: j.remaining(), Agenda: j.hasAgenda(), Slots: j.needs.slots, Memory: j.memoryForPlan(), Takes: j.needs.takes,
		Eligible: f.eligible(now, p, j), Weight: 1, Fairshare: 1,
	})
	f.rankJob(now, &p.Jobs[at], j)
	p.Jobs[at].VTime = f.vtimeForPlan(now, j)
	m, first := j.muster(), len(p.Running)
	p.instances, p.Running = append(p.instances, m.held...), append(p.Running, m.snaps...)
	for n, i := range m.held {
		r := &p.Running[first+n]
		r.Job, r.Host, r.LostWork, r.Memory = at, i.host.place, max(0, p.Now-r.ItemStarted), i.memoryForPlan()
	}
}

func (f *Farm) replanSoon(at time.Time) {
	if f.replanAt.IsZero() || at.Before(f.replanAt) {
		f.replanAt = at
	}
}

// width is how wide the job may run now: its ceiling without regard to its items.
func (f *Farm) width(j *job) int {
	s := f.policy.Share
	raw := s.DefaultMaxCPUs
	if j.MaxCPUs != nil {
		raw = *j.MaxCPUs
	}
	switch {
	case s.Mode == "none" || raw == 0 || !j.hasAgenda():
		return j.CPUs
	case raw < 0:
		return max(j.CPUs, s.MaxCPUsLimit)
	}
	return max(j.CPUs, min(raw, s.MaxCPUsLimit))
}

func (j *job) pending() int { return j.tally.Count(agenda.Pending) }
