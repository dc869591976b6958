package farm

import (
	"slices"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// rollout is a plan on its way into the farm, over as many commits as it takes. It stands for as long as nothing
// else happens: whatever sets planStale ends it, and what is left to do is planned anew. Primaries come before secondaries
// and better ranks before worse in the plan's starts, so what has been done of it at any moment is what a smaller farm
// would have.
type rollout struct {
	p *snapshot
	b planner.Plan

	stage    int // the first of those below that is not over
	next     int // in its list
	started  bool
	place    placer
	short    bool // a start was refused for want of memory
	widened  bool
	drained  []*model.Instance   // before the plan
	needed   map[int]*model.Job  // see neededStops
	shrinks  map[*model.Job]bool // by stops that were not needed
	replan   bool                // something is left that only another plan can do
	vain     map[*model.Job]int  // starts in place of instances that are to leave, for which there is no item, or no budget
	interval bool                // it took more than one commit
}

// apply makes a balance true as far as free slots and the commit allow; the rest follows when ends are proven.
func (f *Farm) apply(now time.Time, a *rollout) {
	f.planning.applying = nil
	stages := []func(time.Time, *rollout) bool{f.applyLabels, f.applyStarts, f.applyStops}
	for ; a.stage < len(stages); a.stage++ {
		if !stages[a.stage](now, a) {
			a.replan, a.interval = a.replan || f.planStale, true
			f.planning.applying, f.planStale = a, false
			return
		}
		a.next, a.started = 0, false
	}
	f.preemptPrimaries(now, a.p, a.b)
	for _, i := range a.drained {
		if !i.Draining {
			f.undrained(now, i)
		}
	}
	f.planning.reserve(now, a.p, a.b)
	f.planNow = false
	f.planStale = f.planStale || a.replan || f.planning.drainUnrecorded
	f.planning.drainUnrecorded = false
	f.planStale = f.planStale || a.p.stopped
}

// applyLabels makes primaries of secondaries and the reverse; false if it left some for later, as of all stages.
func (f *Farm) applyLabels(now time.Time, a *rollout) bool {
	promoted := a.b.Promoted
	for ; a.next < len(promoted)+len(a.b.Demoted); a.next++ {
		switch {
		case f.out.Spent():
			return false
		case a.next < len(promoted):
			f.relabel(now, a.p.instances[promoted[a.next]], facts.Primary, facts.Because(facts.ReasonPrimariesMissing, facts.Params{}, ""))
		default:
			i, why := a.p.instances[a.b.Demoted[a.next-len(promoted)]], facts.Because(facts.ReasonCPUsLowered, facts.Params{}, "")
			if i.Job.Limit != nil {
				why = i.Job.Limit.Why()
			}
			f.relabel(now, i, facts.Secondary, why)
		}
	}
	return true
}

func (f *Farm) applyStarts(now time.Time, a *rollout) bool {
	p, b := a.p, a.b
	if !a.started {
		a.started = true
		clear(f.planning.unmet)
		if len(b.Starts) > 0 {
			a.place = newPlacer(&f.admission, now, p, b.Starts)
		}
		for n, jp := range b.Jobs {
			if jp.Unplaced > 0 {
				f.planning.unmet[p.jobs[n].ID] = jp.Unplaced
			}
		}
	}
	for ; a.next < len(b.Starts); a.next++ {
		if f.out.Spent() {
			return false
		}
		f.applyStart(now, a, a.next)
	}
	f.planning.noteWaitingForMemory(p, b, a.short)
	f.planning.noteVacant(now, p, b)
	f.cpuShare.noteCompeting(p, b)
	f.planning.noteDue(p, b)
	return true
}

func (f *Farm) applyStart(now time.Time, a *rollout, n int) {
	p, s := a.p, a.b.Starts[n]
	f.doing.job = p.jobs[s.Job].ID
	j, h := p.jobs[s.Job], a.place.host(n, s)
	s = a.b.Starts[n]                   // others may have changed places with it
	a.b.FreeOn[s.Host] += j.Needs.Slots // until it takes slots, or waits for them
	slots := a.grants(j, h)
	switch {
	case a.interval && j.Pending() == 0:
		a.replan = true // others have gone on to its items meanwhile
	case slots == 0 || !h.Usable(now, f.policy):
		f.planning.await(a, s)
		f.planStale = f.planStale || a.widened // it may have taken the slots; another host may have some
	case !h.Serves(now, j):
	case !f.admission.mayUse(now, j, h, s.Kind):
		f.planStale = f.planStale || p.started || len(a.b.Promoted) > 0 // now that its job has its primaries, it is another's turn
	case f.admission.startable(j.Needs, h) == 0 || !f.admission.mayHold(j, nil) || !f.admission.seated(j, h):
		f.planning.await(a, s)
		f.planStale = f.planStale || p.started // the host has no more of a resource now; another may have
	case !f.admission.fitsMemory(now, j, h, slots):
		f.planning.await(a, s)
		a.short = true
	case !j.WantsInstances(), j.WaitsForBudget(&f.policy.Share): // the item is still with the instance that is to leave elsewhere
		a.vain[j]++
	default:
		f.startInstance(now, j, h, s.Kind, slots)
		a.place.started(h)
		p.started, a.widened = true, a.widened || slots > j.Needs.Slots
		a.b.FreeOn[h.Place] -= slots
	}
}

// grants is how many slots a start takes of the host: as many as are free there and its job can use, but none that an earlier start
// waits for.
func (a *rollout) grants(j *model.Job, h *model.Host) int {
	return min(h.Grants(j.Needs), max(j.Needs.Slots, a.b.FreeOn[h.Place]+a.place.Coming(h.Place)))
}

// await notes a start that has to wait for an end; that of a primary is not kept waiting by any delay of stops.
func (pl *planning) await(a *rollout, s planner.PlannedStart) {
	p := a.p
	p.awaited = append(p.awaited, s)
	a.b.FreeOn[s.Host] -= p.Jobs[s.Job].Slots
	if s.Kind == facts.Primary {
		pl.unmet[p.jobs[s.Job].ID]++
		p.waiting = append(p.waiting, s)
	}
}

// vacantSought bounds for how many jobs that wait a host is sought where they need not.
const vacantSought = 64

// noteVacant plans again at once if a start waits for an end beside a host that would take it now. A plan leaves
// such room to one that needs more of it; once others have started it may fit them together better. The same holds for a
// job whose seats of licences were chosen where others took the room. As only a plan
// that has started something is followed by another, this comes to an end.
func (pl *planning) noteVacant(now time.Time, p *snapshot, b planner.Plan) {
	if pl.planStale || !p.started {
		return
	}
	var open []*model.Host
	for n, h := range p.hosts {
		if p.Hosts[n].Up && h.Free() > 0 {
			open = append(open, h)
		}
	}
	sought := map[int]bool{}
	vacant := func(job int, kind facts.Kind) bool {
		if len(open) == 0 || len(sought) == vacantSought || sought[job] {
			return false
		}
		sought[job] = true
		return slices.ContainsFunc(open, func(h *model.Host) bool { return pl.admission.takes(now, p.jobs[job], h, kind) })
	}
	for _, s := range p.awaited {
		pl.planStale = pl.planStale || vacant(s.Job, s.Kind)
	}
	for _, n := range b.Order {
		if j := p.jobs[n]; len(j.Needs.Seats) > 0 && len(j.Instances) < b.Jobs[n].Ceiling {
			pl.planStale = pl.planStale || vacant(n, j.NextKind())
		}
	}
}

// takes says whether an instance of the job can start on the host now.
func (ad *admission) takes(now time.Time, j *model.Job, h *model.Host, kind facts.Kind) bool {
	slots := h.Grants(j.Needs)
	return j.Pending() > 0 && h.Usable(now, ad.policy) && slots > 0 && h.Serves(now, j) && ad.mayUse(now, j, h, kind) &&
		ad.startable(j.Needs, h) != 0 && ad.mayHold(j, nil) && ad.seated(j, h) && ad.fitsMemory(now, j, h, slots)
}
