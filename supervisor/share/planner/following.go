package planner

import (
	"slices"

	"qb/smartshare"
)

// MostFollowing is how many plans may follow one event, each asked for by the one before it.
const MostFollowing = 32

// follow says whether another plan is to follow this one at once. A plan looks at the farm as it is before anything of
// it is done; what it does may leave room, or free a host, that only a plan of the farm after it can give away. While
// nothing starts, ends for good or moves the reservation, no plan follows. See doc.go for the bound.
func (p *Plan) follow(s *Snapshot, r *ledger) bool {
	return p.endsInVain() || p.startsLeaveRoom(s, r) || p.movesReservation(s)
}

// endsInVain reports whether an instance ends for good although its replacement cannot start: other jobs get its room.
func (p *Plan) endsInVain() bool {
	return slices.ContainsFunc(p.Stops, func(s PlannedStop) bool { return s.ForGood })
}

// startsLeaveRoom reports whether waiting starts may find room on another host once the starts of this plan are made.
func (p *Plan) startsLeaveRoom(s *Snapshot, r *ledger) bool {
	started, widened, memory := false, false, false
	for n := range p.Starts {
		start := &p.Starts[n]
		switch {
		case start.When == Now:
			started = true
			widened = widened || start.Slots > s.Jobs[start.Job].Slots
		case start.When == AfterSlots && widened: // the wider one may have taken the slots; another host may have some
			return true
		case start.When == AfterReserved && (started || len(p.Promoted) > 0):
			// its job has its primaries: it is another's turn
			return true
		case start.When == AfterStock && started: // the host has no more of a resource; another may have
			return true
		case start.When == AfterMemory:
			memory = true
		}
	}
	return started && (memory || p.leavesUnmeasured(s, r) || p.leavesVacant(s, r))
}

// leavesUnmeasured reports whether a host has slots left while a job of unknown memory need waits: such a job takes
// whatever memory is left, which the division counted as too little.
func (p *Plan) leavesUnmeasured(s *Snapshot, r *ledger) bool {
	unmeasured := func(n int) bool { return s.Jobs[n].Unmeasured && r.items[n] != 0 }
	open := func(h Present) bool { return h.Limited && h.Free > 0 }
	if !slices.ContainsFunc(p.Order, unmeasured) || !slices.ContainsFunc(r.present, open) {
		return false
	}
	held := smartshare.Lend[int](r.scratch, len(s.Jobs))
	for i := range s.Running {
		held[s.Running[i].Job]++
	}
	for n := range p.Starts {
		if p.Starts[n].When == Now {
			held[p.Starts[n].Job]++
		}
	}
	return slices.ContainsFunc(p.Order, func(n int) bool { return unmeasured(n) && held[n] < p.Jobs[n].Ceiling })
}

// vacantSought bounds the number of waiting jobs for which leavesVacant looks for a free host.
const vacantSought = 64

// leavesVacant reports whether a start waits for an end although another host has room for it now. A plan leaves such
// room to a job that needs more of it; the next plan may fit the jobs together better.
func (p *Plan) leavesVacant(s *Snapshot, r *ledger) bool {
	sought := map[int]bool{}
	for n := range p.Starts {
		start := &p.Starts[n]
		if !start.awaits() || sought[start.Job] {
			continue
		}
		if len(sought) == vacantSought {
			return false
		}
		sought[start.Job] = true
		job := &s.Jobs[start.Job]
		for h := range s.Hosts {
			if host := &r.present[h]; host.Free > 0 && s.Serves(start.Job, h) &&
				r.when(job, start.Job, h, start.Kind, job.grant(host.Free, host.Used)) == Now {
				return true
			}
		}
	}
	return false
}

// movesReservation reports whether the reservation changes so that other jobs may start more: the host that this plan
// was made with ends, moves or begins later; or starts wait on the newly reserved host, and may not have to wait
// elsewhere. Such plans come to an end: a holder changes only when it has started or a wide job comes that outranks
// it, its host changes once, and while nothing starts, the estimated time only becomes shorter.
func (p *Plan) movesReservation(s *Snapshot) bool {
	old, is := s.Reserved, p.Reserved
	switch {
	case old != nil:
		return is == nil || is.Job != old.Job || is.Host != old.Host || is.Sure > old.Sure
	case is != nil:
		return slices.ContainsFunc(p.Starts, func(start PlannedStart) bool {
			return start.Host == is.Host && start.Job != is.Job && start.awaits()
		})
	}
	return false
}

// awaits reports whether the start has its host and waits there for the end of an instance.
func (s *PlannedStart) awaits() bool {
	return s.When == AfterSlots || s.When == AfterStock || s.When == AfterMemory
}
