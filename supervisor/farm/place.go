package farm

import (
	"time"

	"qb/supervisor/farm/model"
	"qb/supervisor/share/planner"
)

// waitingKept bounds the list of jobs that may take memory as it comes free.
const waitingKept = 256

// noteWaitingForMemory remembers what the plan left of each host's memory and which jobs still wait.
func (pl *planning) noteWaitingForMemory(p *snapshot, b planner.Plan) {
	pl.waitingForMemory = pl.waitingForMemory[:0]
	for _, h := range p.hosts {
		h.Unplanned = h.ComingMemory()
	}
	for _, n := range b.Order {
		if len(pl.waitingForMemory) == waitingKept {
			return
		}
		if j := p.jobs[n]; j.Pending() > 0 && len(j.Instances) < b.Jobs[n].Ceiling {
			pl.waitingForMemory = append(pl.waitingForMemory, j)
		}
	}
}

// How soon memory that came free makes a plan due: for a start that fits now, and where others would have to give way
// first. What a host has available moves all the time.
const (
	memoryFitsWait  = time.Second
	memoryFreedWait = 10 * time.Second
)

// planIfMemoryFits makes a plan due if the host that has just reported has more memory to give than the last plan left
// there, and a job waits for which that was too little.
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
