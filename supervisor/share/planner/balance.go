package planner

import (
	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// Balance is the settled division of a farm: a pure function of the snapshot. Primaries are granted in
// dispatch order, what is left is divided by exact integer max-min (nearly exact where instances differ
// in shape), with the fewest stops and then the least lost work. Balancing the result changes nothing.
//
//	relabel ─▶ order ─▶ primaries ─▶ surplus ─▶ victims ─▶ placement
func Balance(s Snapshot) Plan { return BalanceIn(&smartshare.Scratch{}, s) }

// Divide is what BalanceIn does.
type Divide func(*smartshare.Scratch, Snapshot) Plan

// BalanceIn is Balance in memory that the balance before it used and the next one may use. The plan has none of it.
// It panics with a Fault if a value is impossible for a farm, and with a WorkError if it takes too many steps.
func BalanceIn(scratch *smartshare.Scratch, s Snapshot) Plan {
	scratch.Reset()
	s.check()
	scratch.Bound(s.work())
	b := divide(scratch, &s, nil)
	for range overrideRounds {
		overrides := b.needlessWaits()
		if overrides == nil {
			break
		}
		other := divide(scratch, &s, overrides)
		if !other.noneLosesTo(b) || other.primariesAtOnce() <= b.primariesAtOnce() {
			break
		}
		b = other
	}
	return b.plan()
}

func divide(scratch *smartshare.Scratch, s *Snapshot, overrides map[int]rankOverride) *balance {
	b := newBalance(s, scratch)
	b.overrides = overrides
	b.rankJobs()
	b.relabel()
	b.findScarce()
	if u, ok := b.measureUnits(); ok {
		b.divideUnits(u)
	} else {
		b.packShapes()
	}
	b.sortVictims(b.stops) // the cheapest stop first
	return b
}

// balance is the working state of one Balance.
type balance struct {
	s          *Snapshot
	scratch    *smartshare.Scratch // nothing of it goes into the plan
	passive    bool
	keepAll    bool   // preemption is disabled
	width      int    // slots of an instance where all are alike
	unitMemory int64  // the most memory of one of those
	closed     []bool // by host, where all are alike: takes nothing new
	jobs       []balanceJob
	kind       []facts.Kind       // by instance, after relabelling
	places     []slotOf           // by instance
	fixed      []bool             // by instance: not for the division to take, of whatever kind
	sizes      []extent           // by job
	memory     []int64            // by instance: what it was promised; 0: what its job asks for. nil: all so
	gone       []bool             // by instance: beyond the agenda, no longer counted
	stopped    []bool             // by instance: the division takes it
	victims    []victim           // room for sorting
	turns      []smartshare.Keyed // the same
	spare      []smartshare.Keyed // the same

	promoted, demoted, leaving, stops []int
	order, rank                       []int
	owner                             []int // by job: its user's number where the surplus is divided by user; else 0
	starts                            []balanceStart
	tiers
	resources
}

// slotOf is where an instance runs; in a list of its own, as each step of a balance asks for it.
type slotOf struct{ job, host int32 }

// extent is what an instance of a job takes, kept for the same reason.
type extent struct {
	slots  int
	memory int64
}

// balanceJob is what a balance knows of a job.
type balanceJob struct {
	floor, ceiling int
	primaries      []int // indices into Running, without the ones that leave
	secondaries    []int
	pinned         int // secondaries that may not be stopped
	need           int // primaries that are missing
	grant          int // primaries to start
	target         int // secondaries to reach, pinned ones included
	moved          int // secondaries to start in place of ones stopped elsewhere
}

// balanceStart is a start, and whether it can be made before any stop has ended.
type balanceStart struct {
	PlannedStart
	now bool
}

func newBalance(s *Snapshot, scratch *smartshare.Scratch) *balance {
	jobs, running := len(s.Jobs), len(s.Running)
	flags := func() []bool { return smartshare.Lend[bool](scratch, running) }
	b := &balance{s: s, scratch: scratch, passive: s.Policy.Preempt == "passive", keepAll: s.Policy.Preempt == "disabled",
		jobs: smartshare.Lend[balanceJob](scratch, jobs), kind: smartshare.Lend[facts.Kind](scratch, running),
		places: smartshare.Lend[slotOf](scratch, running), sizes: smartshare.Lend[extent](scratch, jobs),
		fixed: flags(), gone: flags(), stopped: flags()}
	for i := range s.Jobs {
		b.jobs[i].floor, b.jobs[i].ceiling = JobBounds(&s.Jobs[i], &s.Policy)
		b.sizes[i] = extent{s.Jobs[i].Slots, s.Jobs[i].Memory}
	}
	b.listInstances()
	return b
}

// ints lends a list.
func (b *balance) ints(n int) []int { return smartshare.Lend[int](b.scratch, n) }

// listInstances gives each job its instances by kind, all lists cut from one array.
func (b *balance) listInstances() {
	counts := b.ints(2*len(b.jobs) + 1)
	for i := range b.s.Running {
		r := &b.s.Running[i]
		if uint(r.Job) >= uint(len(b.jobs)) || uint(r.Host) >= uint(len(b.s.Hosts)) || r.Kind > facts.Secondary ||
			uint64(r.Memory) > maxAmount {
			panic(b.s.instanceFault(r))
		}
		b.kind[i] = r.Kind
		b.places[i] = slotOf{int32(r.Job), int32(r.Host)}
		b.fixed[i] = b.keepAll || r.Protected
		counts[2*r.Job+int(r.Kind)+1]++
		if r.Memory > 0 && r.Memory != b.sizes[r.Job].memory {
			if b.memory == nil {
				b.memory = smartshare.Lend[int64](b.scratch, len(b.s.Running))
			}
			b.memory[i] = r.Memory
		}
	}
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	all, next := b.ints(len(b.s.Running)), b.ints(len(counts))
	copy(next, counts)
	for i, p := range b.places {
		at := 2*int(p.job) + int(b.kind[i])
		all[next[at]] = i
		next[at]++
	}
	for j := range b.jobs {
		p, s, end := counts[2*j], counts[2*j+1], counts[2*j+2]
		b.jobs[j].primaries, b.jobs[j].secondaries = all[p:s:s], all[s:end:end]
	}
}

// JobBounds are the primaries and the instances in all that a job can use: min(cpus, remaining) and
// min(widest allowed, remaining).
func JobBounds(j *SnapJob, p *SharePolicy) (floor, ceiling int) {
	floor, ceiling = j.CPUs, p.Width(j.CPUs, j.MaxCPUs, j.Agenda)
	if j.Remaining >= 0 {
		floor, ceiling = min(floor, j.Remaining), min(ceiling, j.Remaining)
	}
	return floor, ceiling
}

// Width is how wide a job may run, however many items it has.
func (p *SharePolicy) Width(cpus int, maxCPUs *int, agenda bool) int {
	width := p.DefaultMaxCPUs
	if maxCPUs != nil {
		width = *maxCPUs
	}
	switch {
	case p.Mode == "none" || width == 0 || !agenda:
		return cpus
	case width < 0:
		return max(cpus, p.MaxCPUsLimit)
	}
	return max(cpus, min(width, p.MaxCPUsLimit))
}

// rankJobs finds the dispatch order.
func (b *balance) rankJobs() {
	jobs := b.s.Jobs
	keys := smartshare.Lend[smartshare.Key](b.scratch, len(jobs))
	for place, j := range b.sortedByID() {
		keys[j].Tie = place
	}
	by, steps, owners := b.s.Policy.Terms(), make(map[string]int), b.s.ownersNumbered()
	for j := range jobs {
		d, known := steps[jobs[j].Cluster]
		if !known {
			d = ClusterDistance(by, jobs[j].Cluster, b.s.Cluster)
			steps[jobs[j].Cluster] = d
		}
		k := b.s.Policy.KeyOf(jobs[j].Priority, jobs[j].Operator, d)
		k.Fairshare = jobs[j].Fairshare
		k.VTime = jobs[j].VTime
		k.Submit = jobs[j].Submit
		k.Tie = keys[j].Tie
		k.Owner = owners[j]
		if jobs[j].Priority != facts.Elite {
			k.Points = jobs[j].Points
		}
		keys[j] = k
	}
	b.order = b.s.byHand(smartshare.Order(b.scratch, keys, by))
	b.findTiers(keys, by)
	b.rank = smartshare.Ranks(b.order)
	b.findOwners()
}

// plan writes the answer down.
func (b *balance) plan() Plan {
	p := Plan{Jobs: make([]JobPlan, len(b.jobs)), Starts: make([]PlannedStart, len(b.starts)),
		Stop: b.stops, Promoted: b.promoted, Demoted: b.demoted, Leaving: b.leaving, Order: b.order}
	for i := range b.starts {
		p.Starts[i] = b.starts[i].PlannedStart
	}
	for j := range b.jobs {
		job := &b.jobs[j]
		held := len(job.secondaries)
		p.Jobs[j] = JobPlan{
			JobCounts: JobCounts{Primary: len(job.primaries) + job.grant, Secondary: job.target},
			Floor:     job.floor, Ceiling: job.ceiling,
			StartPrimary: job.grant, StartSecondary: max(0, job.target-held), Stop: max(0, held-job.target),
			Unplaced: job.need - job.grant}
	}
	if !b.passive {
		for _, i := range b.stops {
			p.LostWork += b.lostWork(i)
		}
	} else {
		p.Immediate = b.immediate()
	}
	p.freeOn = b.freeByHost()
	for _, n := range p.freeOn {
		p.Free += n
	}
	return p
}

// immediate counts what holds before any drain has ended.
func (b *balance) immediate() []JobCounts {
	counts := make([]JobCounts, len(b.jobs))
	for j := range b.jobs {
		counts[j] = JobCounts{len(b.jobs[j].primaries), len(b.jobs[j].secondaries)}
	}
	for _, start := range b.starts {
		switch {
		case !start.now:
		case start.Kind == facts.Primary:
			counts[start.Job].Primary++
		default:
			counts[start.Job].Secondary++
		}
	}
	return counts
}

// freeByHost counts the slots that the settled plan leaves free on each host, if that takes work.
func (b *balance) freeByHost() []int {
	free := make([]int, len(b.s.Hosts))
	for h := range b.s.Hosts {
		free[h] = b.s.Hosts[h].Slots
	}
	for i, p := range b.places {
		if !b.gone[i] && !b.stopped[i] {
			free[p.host] -= b.sizes[p.job].slots
		}
	}
	for i := range b.starts {
		free[b.starts[i].Host] -= b.sizes[b.starts[i].Job].slots
	}
	for h := range b.s.Hosts {
		if free[h] = max(0, free[h]); !b.s.Hosts[h].Up {
			free[h] = 0
		}
	}
	return free
}
