package farm

import (
	"slices"
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// rollout is a plan on its way into the farm, over as many commits as it takes. It is carried on as long as nothing
// else happens: whatever sets planStale ends it, and what is left to do is planned again. Primaries come before
// secondaries and better ranks before worse in the plan's starts, so what has been done of it at any moment is what a
// smaller farm would have.
type rollout struct {
	p *snapshot
	b planner.Plan

	stage    int // the first of those below that is not over
	next     int // in its list
	started  bool
	drained  []*model.Instance   // before the plan
	shrinks  map[*model.Job]bool // whose instances were stopped
	replan   bool                // something is left that only another plan can do
	interval bool                // it took more than one commit
}

// apply makes a balance true as far as free slots and the commit allow; the rest follows when ends are proven.
func (f *Farm) apply(now time.Time, a *rollout) {
	f.shown.applied = true
	f.planning.applying = nil
	stages := []func(time.Time, *rollout) bool{f.applyLabels, f.applyStarts, f.applyStops, f.applyPreempted}
	for ; a.stage < len(stages); a.stage++ {
		if !stages[a.stage](now, a) {
			a.interval = true
			f.planning.applying, f.planStale = a, false
			return
		}
		a.next, a.started = 0, false
	}
	for _, i := range a.drained {
		if !i.Draining {
			f.undrained(now, i)
		}
	}
	f.planning.reserve(a.p, a.b)
	f.planNow, f.planStale = false, false // the plan has allowed for what it has changed itself
	more := a.b.Follows || a.replan || f.planning.drainUnrecorded
	f.planning.drainUnrecorded = false
	f.planning.follow(now, more)
}

// applyLabels makes primaries of secondaries and the reverse; false if it left some for later, as of all stages.
func (f *Farm) applyLabels(now time.Time, a *rollout) bool {
	promoted := a.b.Promoted
	for ; a.next < len(promoted)+len(a.b.Demoted); a.next++ {
		switch {
		case f.out.Spent():
			return false
		case a.next < len(promoted):
			f.relabel(now, a.p.instances[promoted[a.next]], facts.Primary,
				facts.Because(facts.ReasonPrimariesMissing, facts.Params{}, ""))
		default:
			i, why := a.p.instances[a.b.Demoted[a.next-len(promoted)]],
				facts.Because(facts.ReasonCPUsLowered, facts.Params{}, "")
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
	f.planning.noteWaitingForMemory(p, b)
	a.replan = a.replan || p.started && f.planning.seatsVacant(now, p, b)
	f.cpuShare.noteCompeting(p, b)
	f.planning.noteDue(p, b)
	return true
}

// applyStart makes a start that the plan has for now, if it still can be made; else the next plan says what becomes of
// it.
func (f *Farm) applyStart(now time.Time, a *rollout, n int) {
	p, s := a.p, a.b.Starts[n]
	j, h := p.jobs[s.Job], p.hosts[s.Host]
	f.doing.job = j.ID
	switch s.When {
	case planner.AfterSlots, planner.AfterStock, planner.AfterMemory:
		f.planning.await(a, s)
		f.programs.giveWay(h)
		return
	case planner.AfterReserved, planner.AfterItems:
		return
	}
	possible := j.WantsInstances() && !j.WaitsForBudget(&f.policy.Share) && h.Grants(j.Needs) >= s.Slots &&
		f.admission.takes(now, j, h, s.Kind)
	if !possible || !f.startInstance(now, j, h, s.Kind, s.Slots) {
		a.replan = a.replan || p.started || a.interval // something has happened since the plan
		f.counts.DroppedStarts++
		return
	}
	p.started = true
}

// await notes a start that has to wait for an end; that of a primary is not kept waiting by any delay of stops.
func (pl *planning) await(a *rollout, s planner.PlannedStart) {
	p := a.p
	p.awaited = append(p.awaited, s)
	if s.Kind == facts.Primary {
		pl.unmet[p.jobs[s.Job].ID]++
	}
}

// seatsVacant says that a job whose seats of licences were chosen where others took the room could start on a host now.
// Which seats are taken the snapshot does not say.
func (pl *planning) seatsVacant(now time.Time, p *snapshot, b planner.Plan) bool {
	return slices.ContainsFunc(b.Order, func(n int) bool {
		j := p.jobs[n]
		return len(j.Needs.Seats) > 0 && len(j.Instances) < b.Jobs[n].Ceiling &&
			slices.ContainsFunc(p.hosts, func(h *model.Host) bool {
				return h.Free() > 0 && pl.admission.takes(now, j, h, j.NextKind())
			})
	})
}

// takes says whether an instance of the job can start on the host now.
func (ad *admission) takes(now time.Time, j *model.Job, h *model.Host, kind facts.Kind) bool {
	slots := h.Grants(j.Needs)
	return j.Pending() > 0 && h.Usable(now, ad.policy) && slots > 0 && h.Serves(now, j) && ad.mayUse(now, j, h, kind) &&
		ad.startable(j.Needs, h) != 0 && ad.mayHold(j, nil) && ad.seated(j, h) && ad.fitsMemory(now, j, h, slots)
}
