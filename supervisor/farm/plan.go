package farm

import (
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/fit"
	"qb/supervisor/message"
	"qb/supervisor/model"
	"qb/supervisor/outbox"
	"qb/supervisor/planner"
)

// planning makes the snapshots for plans, and is all that the farm remembers from plan to plan. Nothing of it is stored: the
// first plan of a term makes it anew.
type planning struct {
	*shared
	admission       *admission
	resources       *resources
	usage           *usage
	cpuShare        *cpuShare
	lastPlan        time.Time
	last, spare     *snapshot // the snapshots of the last plan, and of the one before
	scratch         smartshare.Scratch
	applying        *rollout // nil: no plan is under way
	drainUnrecorded bool     // some instances drain, and the history had no room for it
	// What follows is as of the last plan.
	unmet            map[facts.JobID]int // primaries that wait
	due              map[facts.JobID]int // secondaries, of jobs that had fewer than the plan gives them
	waitingForMemory []*model.Job        // that wait and may take memory as it comes free
}

// snapshot is the planner's, with the way back from its indices to the farm.
type snapshot struct {
	planner.Snapshot
	jobs      []*model.Job
	rows      []jobRow
	hosts     []*model.Host
	instances []*model.Instance
	keys      fit.Keys
	factors   map[facts.Payer]float64 // fairshare factors; nil: not yet asked for
	changes   uint64                  // of the rows of hosts until then
	allowed   map[string][]int        // eligible hosts by what the job asks for: see keys
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
	f.standstill.resumeWaiting(now)
	f.dependencies.follow()
	switch {
	case f.out.Spent():
		return
	case f.planning.applying != nil && !f.planStale:
		f.apply(now, f.planning.applying)
		return
	case !f.planStale, !f.planning.lastPlan.IsZero() && now.Sub(f.planning.lastPlan).Abs() < f.policy.PlanDelay && !f.planNow:
		return
	}
	f.planning.lastPlan = now
	f.planStale = false
	f.counts.Plans++
	p := f.planning.next(now)
	f.apply(now, &rollout{p: p, b: planner.BalanceIn(&f.planning.scratch, p.Snapshot), vain: map[*model.Job]int{}})
}

// Snapshot is the farm as `qb plan` reads it. What has not changed since the last plan is taken from there.
func (f *Farm) Snapshot(now time.Time) planner.Snapshot {
	p := newSnapshot()
	p.Running = make([]planner.SnapInstance, 0, len(f.planning.last.Running))
	f.planning.fill(now, p, f.planning.last)
	return p.Snapshot
}

// next is the farm as it is now. It takes the memory of the snapshot before the last.
func (pl *planning) next(now time.Time) *snapshot {
	p := newSnapshot()
	if old := pl.spare; old != nil {
		clear(old.instances)
		p.jobs, p.rows, p.instances = old.jobs[:0], old.rows[:0], old.instances[:0]
		p.Jobs, p.Hosts, p.Running = old.Jobs[:0], old.Hosts[:0], old.Running[:0]
	}
	if r := pl.admission.reserved; r != nil {
		r.estimate(now) // the estimate of the last plan may be too early, and keep out items that end before the holder can start
	}
	pl.fill(now, p, pl.last)
	pl.spare, pl.last = pl.last, p
	return p
}

// SnapshotWith is that farm with the job of a submission, as if that had been accepted: the last of the jobs. One that would be
// blocked is not among them.
func (f *Farm) SnapshotWith(now time.Time, e message.JobSubmitted) (planner.Snapshot, message.Supposed, *outbox.Refusal) {
	p, supposed := newSnapshot(), message.Supposed{}
	remarks, refusal := f.suppose(now, e, func(j *model.Job) {
		last := f.planning.planFarm(now, p, f.planning.last)
		if supposed.Planned = j.Planned(); supposed.Planned {
			f.usage.limit(now, j)
			f.admission.refreshNeed(now, j)
			f.planning.planJob(now, p, last, j)
			supposed.VTimes = f.cpuShare.rankSupposed(now, p, j)
		}
		f.resources.add(now, p)
		supposed.Items = j.Entries.Len()
	})
	supposed.Remarks = remarks
	return p.Snapshot, supposed, refusal
}

// fill fills in the farm as it is now. What has not changed since the last plan comes from there.
func (pl *planning) fill(now time.Time, p, last *snapshot) {
	pl.planFarm(now, p, last)
	pl.resources.add(now, p)
}

// planFarm fills in all but the resources. It returns the last snapshot, empty if this one does not go on from it.
func (pl *planning) planFarm(now time.Time, p, last *snapshot) *snapshot {
	pl.cpuShare.compete(now)
	pl.usage.judge(now)
	pl.planHosts(now, p)
	if !last.precedes(p) {
		last = &snapshot{}
	}
	for _, j := range pl.jobs.Sorted() {
		if j.Planned() {
			pl.admission.refreshNeed(now, j)
			pl.planJob(now, p, last, j)
		}
	}
	pl.cpuShare.rank(now, p)
	return last
}

// planHosts adds all hosts, by name.
func (pl *planning) planHosts(now time.Time, p *snapshot) {
	pl.admission.viewpoint = pl.hosts.Cluster(pl.policy.DefaultCluster)
	p.Now, p.Policy, p.Cluster = model.Seconds(now), pl.policy.Share, pl.admission.viewpoint
	p.hosts, p.keys, p.changes = pl.hosts.Sorted(), fit.KeysOf(pl.hosts.Each()), pl.hosts.Changes
	pl.admission.leastMemory = 0
	if len(p.hosts) > 0 {
		pl.admission.leastMemory = max(0, p.keys.Least())
	}
	for n, h := range p.hosts {
		h.Place = n
		slots, ending := h.ForPlan()
		p.Hosts = append(p.Hosts, planner.SnapHost{
			Name: string(h.ID), Slots: slots, Memory: h.MemoryForPlan(), Tags: h.Groups, Cluster: h.Cluster, Up: h.Usable(now, pl.policy),
			Ending: ending, EndingMemory: h.EndingMemory(),
		})
	}
}
