package farm

import (
	"cmp"
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/planner"
)

// planState is all that the farm remembers from plan to plan. Nothing of it is stored: the first plan of a term makes it
// anew.
type planState struct {
	dirty       bool // something changed that may move instances
	urgent      bool // a person asked for it: no settling
	lastPlan    time.Time
	replanAt    time.Time // a deferred stop falls due then; zero: none
	last, spare *planned  // the snapshots of the last plan, and of the one before
	scratch     smartshare.Scratch
	hostChanges uint64       // counts changes of the rows of hosts; of each job's see job.changes
	applying    *application // nil: no plan is under way
	untold      bool         // some instances drain, and the history had no room for it
	// What follows is as of the last plan.
	unmet       map[facts.JobID]int // primaries that wait
	due         map[facts.JobID]int // secondaries, of jobs that had fewer than the plan gives them
	hungry      []*job              // that wait for memory beside free slots
	contest     []*job              // that wait for slots which others have
	reserved    *reservation        // nil: no host is kept for a wide job
	viewpoint   string              // cluster from which it ranked jobs
	leastMemory int64               // of the smallest host; 0: one did not say, or there is none
}

// planned is a snapshot with the way back from its indices to the farm.
type planned struct {
	planner.Snapshot
	jobs      []*job
	rows      []jobRow
	hosts     []*host
	instances []*instance
	keys      fit.Keys
	factors   map[facts.Payer]float64 // fairshare factors; nil: not yet asked for
	changes   uint64                  // of the rows of hosts until then
	allowed   map[string][]int        // eligible hosts by what the job asks for: see keys
	latest    string                  // the key that was asked for last, of more than one job mostly
	latestFit []int                   // and its hosts
	started   bool                    // something was
	awaited   []planner.PlannedStart  // starts that are settled and wait for an end
	waiting   []planner.PlannedStart  // those of primaries
	yielded   map[int]int             // by wide job: the host where others give way to it
	stopped   bool                    // secondaries were
}

// Plan moves instances if something changed since the last plan and the least delay has passed. It is the
// only place where instances are started and given away for sharing. What one commit has no room for it leaves for the
// next call after that.
func (f *Farm) Plan(now time.Time) {
	defer f.out.OwnWork()()
	f.carryOn(now)
	f.carryOrders(now)
	switch {
	case f.out.Spent():
		return
	case f.applying != nil && !f.dirty:
		f.apply(now, f.applying)
		return
	case !f.dirty, !f.lastPlan.IsZero() && now.Sub(f.lastPlan).Abs() < f.policy.PlanDelay && !f.urgent:
		return
	}
	f.lastPlan = now
	f.dirty = false
	f.counts.Plans++
	p := f.planNext(now)
	f.apply(now, &application{p: p, b: planner.BalanceIn(&f.scratch, p.Snapshot)})
}

// Snapshot is the farm as `qb plan` reads it.
func (f *Farm) Snapshot(now time.Time) planner.Snapshot {
	p := newPlanned()
	f.plan(now, p, newPlanned())
	return p.Snapshot
}

// planNext is the farm as it is now. It takes the memory of the snapshot before the last.
func (f *Farm) planNext(now time.Time) *planned {
	p := newPlanned()
	if old := f.spare; old != nil {
		clear(old.instances)
		p.jobs, p.rows, p.instances = old.jobs[:0], old.rows[:0], old.instances[:0]
		p.Jobs, p.Hosts, p.Running = old.Jobs[:0], old.Hosts[:0], old.Running[:0]
	}
	f.plan(now, p, cmp.Or(f.last, newPlanned()))
	f.spare, f.last = f.last, p
	return p
}

// plan fills in the farm as it is now. What has not changed since the last plan comes from there.
func (f *Farm) plan(now time.Time, p, last *planned) {
	f.contend(now)
	f.planHosts(now, p)
	if !last.precedes(p) {
		last = &planned{}
	}
	for _, j := range f.sortedJobs() {
		if j.State == facts.Active && j.remaining() > 0 {
			f.refreshNeed(now, j)
			f.planJob(now, p, last, j)
		}
	}
	f.planResources(p)
}

// planHosts adds all hosts, by name.
func (f *Farm) planHosts(now time.Time, p *planned) {
	f.viewpoint = f.cluster()
	p.Now, p.Policy, p.Cluster = seconds(now), f.policy.Share, f.viewpoint
	p.hosts, p.keys, p.changes = f.sortedHosts(), f.keys(), f.hostChanges
	f.leastMemory = 0
	if len(p.hosts) > 0 {
		f.leastMemory = max(0, p.keys.Least())
	}
	for n, h := range p.hosts {
		h.place = n
		sums := h.summed()
		p.Hosts = append(p.Hosts, planner.SnapHost{
			Name: string(h.ID), Slots: h.Slots - sums.extra, Memory: h.memoryForPlan(), Tags: h.Groups, Cluster: h.Cluster, Up: h.usable(now, f.policy),
			Ending: sums.ending, EndingMemory: h.endingMemory(),
		})
	}
}

// cluster is where jobs are ranked from while the hosts do not tell them apart: the one that all hosts are
// in, else the site's default. Hosts of several clusters rank the jobs each for itself.
func (f *Farm) cluster() string {
	one := ""
	for _, h := range f.sortedHosts() {
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
