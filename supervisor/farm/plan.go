package farm

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"qb/smartshare"
	"qb/supervisor/farm/culprit"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/model"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/job/fit"
	"qb/supervisor/share/planner"
)

// planning makes the snapshots for plans, and is all that the farm remembers from plan to plan. Nothing of it is
// stored: the first plan of a term rebuilds it.
type planning struct {
	*shared
	admission       *admission
	resources       *resources
	usage           *usage
	cpuShare        *cpuShare
	lastPlan        time.Time
	broken          broken
	following       following
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
	only      func(facts.JobID) bool  // the jobs that are planned; nil: all
	factors   map[facts.Payer]float64 // fairshare factors; nil: not yet asked for
	changes   uint64                  // of the rows of hosts until then
	allowed   map[string][]int        // eligible hosts by what the job asks for: see keys
	ordered   bool                    // the site's preference among hosts is known
	started   bool                    // something was
	awaited   []planner.PlannedStart  // starts that are settled and wait for an end
}

// Plan moves instances if something changed since the last plan and the least delay has passed. It is the
// only place where instances are started and given away for sharing. What one commit has no room for it leaves for the
// next call after that.
func (f *Farm) Plan(now time.Time) {
	defer f.out.OwnWork()()
	f.doing.job = 0
	f.carryOn(now)
	f.carryOrders(now)
	f.doing.job = 0
	f.suspensions.resumeWaiting(now)
	f.programs.revive(now, f.itemEnd, f.giveItem)
	f.dependencies.follow()
	switch {
	case f.out.Spent():
		return
	case f.planning.broken.search != nil:
		f.searchOn(now)
		return
	case f.planning.broken.waits(now, f.planNow):
		return
	case f.planning.applying != nil && !f.planStale:
		f.apply(now, f.planning.applying)
		return
	case !f.planning.isDue(), !f.planning.lastPlan.IsZero() && now.Sub(f.planning.lastPlan).Abs() < f.policy.PlanDelay &&
		!f.planNow:
		return
	}
	f.planning.lastPlan = now
	f.planning.following.begin(f.planStale)
	f.planStale = false
	f.counts.Plans++
	p, b, broke := f.planning.attempt(now, f.planning.next)
	if broke != nil {
		f.planBroke(now, broke)
		return
	}
	f.plansWork(now)
	f.apply(now, &rollout{p: p, b: b})
}

// Snapshot is the farm as `qb plan` reads it. What has not changed since the last plan is taken from there.
func (f *Farm) Snapshot(now time.Time) planner.Snapshot {
	defer f.planning.saved()()
	p := newSnapshot()
	p.Running = make([]planner.SnapInstance, 0, len(f.planning.last.Running))
	f.planning.fill(now, p, f.planning.last)
	return p.Snapshot
}

// saved remembers all that filling a snapshot refreshes, and returns what puts it back: only a plan may change the
// farm, however often it is read.
func (pl *planning) saved() (putBack func()) {
	ad, judged, sharing := *pl.admission, pl.usage.judged, pl.cpuShare.sharing.Saved()
	var reserved reservation
	if ad.reserved != nil {
		reserved = *ad.reserved
	}
	jobs, hosts := pl.jobs.Sorted(), pl.hosts.Sorted()
	refreshed, places := make([]model.Refreshed, len(jobs)), make([]int, len(hosts))
	for n, j := range jobs {
		refreshed[n] = j.Refreshed
	}
	for n, h := range hosts {
		places[n] = h.Place
	}
	return func() {
		*pl.admission, pl.usage.judged = ad, judged
		sharing()
		if ad.reserved != nil {
			*ad.reserved = reserved
		}
		for n, j := range jobs {
			j.Refreshed = refreshed[n]
		}
		for n, h := range hosts {
			h.Place = places[n]
		}
	}
}

// next is the farm as it is now. It takes the memory of the snapshot before the last.
func (pl *planning) next(now time.Time) *snapshot {
	p := newSnapshot()
	if old := pl.spare; old != nil {
		clear(old.instances)
		p.jobs = old.jobs[:0]
		p.rows = old.rows[:0]
		p.instances = old.instances[:0]
		p.Jobs = old.Jobs[:0]
		p.Hosts = old.Hosts[:0]
		p.Running = old.Running[:0]
		p.Present = old.Present[:0]
	}
	pl.fill(now, p, pl.last)
	pl.spare, pl.last = pl.last, p
	return p
}

// SnapshotWith is that farm with the jobs of a submission, as if that had been accepted: the last of the jobs. Those
// that would be blocked are not among them.
func (f *Farm) SnapshotWith(now time.Time,
	list []message.JobSubmitted) (planner.Snapshot, message.TrialReply, *outbox.Refusal) {
	p, supposed := newSnapshot(), message.TrialReply{VTimes: map[int]float64{}}
	defer f.planning.saved()()
	remarks, refusal := f.suppose(now, list, func(jobs []*model.Job) {
		last := f.planning.planFarm(now, p, f.planning.last)
		for _, j := range jobs {
			supposed.Items += j.Entries.Len()
			if !j.Planned() {
				continue
			}
			supposed.Planned++
			f.usage.limit(now, j)
			f.admission.refreshNeed(now, j)
			f.planning.planJob(now, p, last, j)
			maps.Copy(supposed.VTimes, f.cpuShare.rankSupposed(now, p, j))
		}
		f.planning.addEnds(now, p)
		f.resources.add(now, p)
	})
	supposed.Remarks = remarks
	return p.Snapshot, supposed, refusal
}

// fill fills in the farm as it is now. What has not changed since the last plan comes from there.
func (pl *planning) fill(now time.Time, p, last *snapshot) {
	pl.planFarm(now, p, last)
	pl.addEnds(now, p)
	pl.resources.add(now, p)
}

// addEnds adds when instances end that have no row, where that may matter to a job whose instances take several slots.
func (pl *planning) addEnds(now time.Time, p *snapshot) {
	if p.Reserved == nil && !slices.ContainsFunc(p.Jobs, func(j planner.SnapJob) bool { return j.Slots > 1 }) {
		return
	}
	for _, j := range pl.jobs.Sorted() {
		model.AddEnds(now, &p.Snapshot, j)
	}
}

// planFarm fills in all but the resources. It returns the last snapshot, empty if this one does not go on from it.
func (pl *planning) planFarm(now time.Time, p, last *snapshot) *snapshot {
	if r := pl.admission.reserved; r != nil {
		// the estimate of the last plan may be too early, and keep out items that end before the holder can start
		r.estimate(now)
	}
	pl.cpuShare.compete(now)
	pl.usage.judge(now)
	pl.planHosts(now, p)
	if !last.precedes(p) {
		last = &snapshot{}
	}
	for _, j := range pl.jobs.Sorted() {
		if j.Planned() && (p.only == nil || p.only(j.ID)) {
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
	p.Now = model.Seconds(now)
	p.Policy = pl.policy.PlanShare()
	p.Cluster = pl.admission.viewpoint
	p.Urgent = pl.planNow
	p.Left = map[string]int64{}
	p.Coming = map[string]int64{}
	p.Present = slices.Grow(p.Present[:0], len(pl.hosts.ByID))
	p.hosts = pl.hosts.Sorted()
	p.keys = fit.KeysOf(pl.hosts.Each())
	p.changes = pl.hosts.Changes
	pl.admission.leastMemory = 0
	if len(p.hosts) > 0 {
		pl.admission.leastMemory = max(0, p.keys.Least())
	}
	for n, h := range p.hosts {
		h.Place = n
		slots, ending := h.ForPlan()
		p.Hosts = append(p.Hosts, planner.SnapHost{
			Name: string(h.ID), Slots: slots, Memory: h.MemoryForPlan(), Tags: h.Groups, Cluster: h.Cluster,
			Up:     h.Usable(now, pl.policy),
			Ending: ending, EndingMemory: h.EndingMemory(),
		})
		p.Hosts[n].Clamp()
		p.Present = append(p.Present, h.Present(now))
	}
	p.numberMachines()
	if r := pl.admission.reserved; r != nil {
		// its job is found among those of the plan
		p.Reserved = &planner.Reserved{Host: r.host.Place, Job: -1, Sure: r.sure, Primaries: r.primaries}
	}
}

// How plans that break are dealt with.
const (
	searchTries  = 400              // of plans of a part of the jobs, all searches together until a plan is made
	searchSteps  = 100_000_000      // also, that they may take …
	searchWork   = 8                // … and so many times what the plan which broke was allowed
	planRest     = 10 * time.Second // without plans after a search in vain …
	planRestMost = 10 * time.Minute // … and its longest
	newsKept     = 16               // of broken plans, until they are asked for
)

// broken is what a farm knows of plans that break: they panic, or take more steps than any plan of such a farm should.
// That must stop nothing but the plans of the job at fault, so the farm looks for that one, with one try each time the
// loop comes by, and holds it. If there is no such job, it goes on without plans for a while.
type broken struct {
	search *culprit.Search // nil: none is under way
	how    *planBreak      // how plans broke last, in the search
	why    string          // no plans are made; "": they are
	rest   time.Duration
	until  time.Time // no plan is made before, but after a person's change
	tries  int
	steps  int
	news   []message.PlanBreak
}

// planBreak is how a plan broke.
type planBreak struct {
	job         *model.Job // whose row has a value that is none; nil: the plan does not say
	text, stack string
	most        int // steps that it was allowed
}

// waits says whether no plan is to be made now.
func (br *broken) waits(now time.Time, byPerson bool) bool {
	return br.why != "" && !byPerson && now.Before(br.until)
}

// attempt makes a plan of the snapshot that fill makes. A plan that breaks has changed nothing that is not rebuilt
// for each.
func (pl *planning) attempt(now time.Time,
	fill func(time.Time) *snapshot) (p *snapshot, b planner.Plan, broke *planBreak) {
	defer func() {
		pl.broken.steps += pl.scratch.Spent()
		thrown := recover()
		if thrown == nil {
			return
		}
		broke = &planBreak{text: culprit.Text(thrown), stack: string(debug.Stack()), most: pl.scratch.Most()}
		if err, is := thrown.(error); is {
			var fault *planner.Fault
			var work smartshare.WorkError
			switch {
			case errors.As(err, &fault) && fault.Job >= 0:
				broke.job, broke.stack = p.jobs[fault.Job], ""
			case errors.As(err, &work):
				broke.stack = ""
			}
		}
		pl.applying = nil
		pl.spare = nil
		pl.last = newSnapshot()
	}()
	pl.scratch.Bound(0)
	p = fill(now)
	divide := planner.Decide
	if pl.policy.Divide != nil {
		divide = pl.policy.Divide
	}
	return p, divide(&pl.scratch, p.Snapshot), nil
}

// planBroke begins the search. A farm whose cross-references are broken as well is not to go on.
func (f *Farm) planBroke(now time.Time, broke *planBreak) {
	f.counts.PlanPanics++
	if err := f.Check(); err != nil {
		panic(fmt.Sprintf("%s, and %v\n%s", broke.text, err, broke.stack))
	}
	br := &f.planning.broken
	f.planStale = true
	br.report(message.PlanBreak{Text: broke.text, Stack: broke.stack})
	if broke.job != nil {
		f.holdCulprit(now, broke.job.ID, broke)
		return
	}
	var jobs []facts.JobID
	for _, j := range f.jobs.Sorted() {
		if j.Planned() {
			jobs = append(jobs, j.ID)
		}
	}
	br.search, br.how = culprit.New(jobs), broke
}

// searchOn makes one try. Nothing comes of its plan.
func (f *Farm) searchOn(now time.Time) {
	br := &f.planning.broken
	if br.tries++; br.tries > searchTries || br.steps > searchSteps+searchWork*br.how.most {
		f.stopPlans(now, fmt.Sprintf("%d tries found no job that is to blame", br.tries-1))
		return
	}
	_, _, broke := f.planning.attempt(now, func(now time.Time) *snapshot {
		p := newSnapshot()
		p.only = br.search.Within
		f.planning.fill(now, p, newSnapshot())
		return p
	})
	if broke != nil {
		f.counts.PlanPanics++
		br.how = broke
		if broke.job != nil {
			f.holdCulprit(now, broke.job.ID, broke)
			return
		}
	}
	switch v := br.search.Tried(broke != nil); {
	case v.Job != 0:
		f.holdCulprit(now, v.Job, br.how)
	case v.Why != "":
		f.stopPlans(now, v.Why)
	case v.Over: // what was kept of the last plan was wrong, and has gone
		br.search = nil
	}
}

// holdCulprit blocks the job on which the planner fails, until a person unblocks it.
func (f *Farm) holdCulprit(now time.Time, id facts.JobID, broke *planBreak) {
	br := &f.planning.broken
	br.search, f.planStale = nil, true
	br.report(message.PlanBreak{Text: broke.text, Stack: broke.stack, Job: id})
	j := f.jobs.ByID[id]
	if j == nil || j.State.Final() {
		return
	}
	why := facts.Why{Reason: facts.ReasonPlanFails}
	why.Cause = fmt.Sprintf("%s: the planner fails on it (%s); change it or update the supervisor, then unblock it",
		model.LockedByFarm, broke.text)
	f.faults.block(now, j, why)
}

// stopPlans goes on without plans: what runs goes on, and so do items on instances that are there, orders and leases.
func (f *Farm) stopPlans(now time.Time, why string) {
	br := &f.planning.broken
	stopped := br.why == ""
	br.rest = min(max(2*br.rest, planRest), planRestMost)
	br.search = nil
	br.tries = 0
	br.steps = 0
	br.until = now.Add(br.rest)
	br.why = fmt.Sprintf("plans fail: %s; %s", br.how.text, why)
	f.planStale = false
	f.planNow = false
	f.planning.following = following{}
	f.replanSoon(br.until)
	br.report(message.PlanBreak{Text: br.why, Stack: br.how.stack, Stopped: true})
	if stopped {
		f.out.Record(now, facts.EventFacts{Type: "plans-stopped", Item: -1, Instance: -1, By: model.LockedByFarm,
			Why: facts.Why{Reason: facts.ReasonPlanFails, Cause: br.why}})
	}
}

// plansWork notes that a plan was made.
func (f *Farm) plansWork(now time.Time) {
	br := &f.planning.broken
	if br.why != "" {
		f.out.Record(now, facts.EventFacts{Type: "plans-resumed", Item: -1, Instance: -1, By: model.LockedByFarm})
	}
	*br = broken{news: br.news}
}

func (br *broken) report(b message.PlanBreak) {
	if len(br.news) < newsKept {
		br.news = append(br.news, b)
	}
}

// PlanBreaks returns how plans broke since it was asked last.
func (f *Farm) PlanBreaks() []message.PlanBreak {
	news := f.planning.broken.news
	f.planning.broken.news = nil
	return news
}
