package farm

import (
	"time"

	"qb/supervisor/bestfit"
	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// placer chooses the hosts of a plan's starts among those that may run them.
type placer struct {
	*bestfit.Table
	p *snapshot
}

func newPlacer(ad *admission, now time.Time, p *snapshot, starts []planner.PlannedStart) placer {
	return placer{p: p, Table: bestfit.New(&p.Snapshot, starts, p.allowed, bestfit.Asks{
		Placement: ad.policy.Memory.Placement,
		Room: func(n int) bestfit.Room {
			h := p.hosts[n]
			return bestfit.Room{Ledger: h.Ledger(nil), Free: h.Free(), Known: h.Limited() && h.Usable(now, ad.policy)}
		},
		Left: func(n int, resource string) int64 { return p.hosts[n].Left(resource) },
		Try: func(start, n int) (fits bool, share int64) {
			s, h := starts[start], p.hosts[n]
			j := p.jobs[s.Job]
			if !ad.takes(now, j, h, s.Kind) {
				return false, 0
			}
			if j.MemoryNeed > 0 || !h.Limited() || ad.needOn(j, h, j.Needs.Slots) >= ad.policy.Memory.Default {
				return true, bestfit.Enough
			}
			return true, h.Announce() // nothing is known of its need: where it has most
		},
	})}
}

// host is where start n goes.
func (l placer) host(n int, s planner.PlannedStart) *model.Host {
	j, meant := l.p.jobs[s.Job], l.p.hosts[s.Host]
	switch {
	case len(j.Needs.Order) > 0:
		before := func(a, b int) bool {
			x, y := l.p.hosts[a], l.p.hosts[b]
			return j.Needs.Compare(&x.Host, model.Load{H: x}, &y.Host, model.Load{H: y}) < 0
		}
		return l.p.hosts[l.ByOrder(n, before)]
	case !meant.Limited():
		return l.p.hosts[l.Stay(n)]
	}
	return l.p.hosts[l.ByMemory(n)]
}

// started puts the host, and those that share its memory, where they belong now.
func (l placer) started(h *model.Host) {
	if h.Limited() {
		for _, o := range h.Machine.Hosts {
			l.Changed(o.Place)
		}
	}
}

// waitingKept bounds the list of jobs that may take memory as it comes free.
const waitingKept = 256

// noteWaitingForMemory remembers what the plan left of each host's memory and which jobs still wait, and plans again at once
// only if this plan has moved something. Short says that a start was refused for want of memory.
func (pl *planning) noteWaitingForMemory(p *snapshot, b planner.Plan, short bool) {
	pl.waitingForMemory = pl.waitingForMemory[:0]
	pl.planStale = pl.planStale || short && p.started
	open := false
	for n, h := range p.hosts {
		h.Unplanned = h.ComingMemory()
		open = open || (p.Hosts[n].Up && h.Limited() && h.Free() > 0)
	}
	for _, n := range b.Order {
		if len(pl.waitingForMemory) == waitingKept {
			return
		}
		if j := p.jobs[n]; j.Pending() > 0 && len(j.Instances) < b.Jobs[n].Ceiling {
			pl.waitingForMemory = append(pl.waitingForMemory, j)
			pl.planStale = pl.planStale || (open && p.started && j.MemoryNeed == 0) // it takes what is left, which the plan took for too little
		}
	}
}

// How soon memory that came free makes a plan due: for a start that fits now, and where others would have to give way
// first. What a host has available moves all the time.
const (
	memoryFitsWait  = time.Second
	memoryFreedWait = 10 * time.Second
)

// planIfMemoryFits makes a plan due if the host that has just reported has more memory to give than the last plan left there, and a
// job waits for which that was too little.
func (pl *planning) planIfMemoryFits(now time.Time, h *model.Host) {
	if !h.Limited() || h.ComingMemory() <= h.Unplanned {
		return
	}
	waits := false
	for _, j := range pl.waitingForMemory {
		need := j.MemoryForPlan()
		fits := need <= h.Ledger(nil) && h.Grants(j.Needs) > 0
		if need <= h.Unplanned || (waits && !fits) || !j.WantsInstances() || !h.Serves(now, j) {
			continue
		}
		if fits {
			pl.replanSoon(now.Add(memoryFitsWait))
			return
		}
		waits = true
	}
	if waits {
		pl.replanSoon(now.Add(memoryFreedWait))
	}
}
