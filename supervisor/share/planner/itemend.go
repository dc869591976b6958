package planner

import (
	"maps"
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// EndRule is why an instance whose item has ended takes no other item of its job.
type EndRule int

// The rules in the order in which they are tried: where several hold, the history has the first one as the reason.
//
//   - What was decided before comes first, as the history has that reason already: by a plan or a person, by a release
//     of slots, by the protection of an item.
//   - Then come the instance itself and its host: while a host takes no work, it does not matter what it offers and
//     which jobs it serves.
//   - Then come the limits of its payer, its job and the farm, from the widest to the narrowest.
//   - A host that refuses the job comes after them, since its reason often follows from one of those.
//   - The reservation for another job is last, because it passes: an instance that must end by another rule is not to
//     be reported as an instance that only makes room.
const (
	TakesNextItem      EndRule = iota
	InstanceLeaves             // it drains by a plan, or ends by an action or with its job
	SlotsReleased              // it was suspended and has given back its slots; others may run there
	SlotPlannedAgain           // it was protected, as its item was preempted too often: a plan has its slots now
	TimeLimitReached           // of the job, for an instance
	HostTakesNoWork            // locked, silent or refused
	HostOversubscribed         // its host offers fewer slots than are taken, or resumes an instance on them
	BudgetUsedUp               // of the job's payer, or the job takes no items
	InstanceLimit              // more instances of the job run than one of its limits allows
	ResourceOverused           // the farm holds more of a resource than it may, of which the instance holds some
	HostRefusesJob             // groups, requirements, avoided hosts; in a plan also too few seats of a licence
	RequestChanged             // the job asks for other slots or resources than the instance has
	HostReserved               // for another job
	endRules
)

// String is the rule in an answer of `qb plan`, "" for TakesNextItem.
func (r EndRule) String() string {
	return [...]string{"", "leaves", "released", "protected", "timelimit", "host", "slots", "budget", "limit", "resource",
		"refused", "changed", "reserved"}[r]
}

// ItemEnd says of each rule whether it holds for an instance. The farm fills it when an item ends, Closing from a
// snapshot.
type ItemEnd [endRules]bool

// Rule is the first rule that holds.
func (e *ItemEnd) Rule() EndRule { return EndRule(max(0, slices.Index(e[:], true))) }

// PlannedClose is an instance that stays by the plan and closes when its item ends.
type PlannedClose struct {
	Instance int // index into Running
	Why      EndRule
}

// Closing lists the instances that would take no other item if their items ended at the moment of the snapshot. The
// instances that the plan itself ends are left out.
func (s *Snapshot) Closing(p *Plan) (list []PlannedClose) {
	r := newLedger(&smartshare.Scratch{}, s)
	ends := map[int]bool{}
	for _, i := range slices.Concat(p.Going(), p.Leaving) {
		ends[i] = true
	}
	for i := range s.Running {
		end := s.itemEnd(r, i)
		if why := end.Rule(); why != TakesNextItem && !ends[i] {
			list = append(list, PlannedClose{i, why})
		}
	}
	return list
}

// itemEnd says which rules hold for an instance that the plan lets stay.
func (s *Snapshot) itemEnd(r *ledger, i int) (e ItemEnd) {
	in := &s.Running[i]
	job, kept := &s.Jobs[in.Job], s.Reserved
	e[SlotsReleased] = in.Released
	e[SlotPlannedAgain] = in.Protected && !in.Suspended && in.Kind == facts.Secondary && s.Policy.Preempt != "disabled"
	e[TimeLimitReached] = in.Expires > 0 && s.Now >= in.Expires
	e[HostTakesNoWork] = !s.Hosts[in.Host].Up
	e[HostOversubscribed] = r.present[in.Host].Free < 0
	e[BudgetUsedUp] = job.Barred
	e[InstanceLimit] = r.exceeded(s, job)
	for name, amount := range s.holds(i) {
		if _, limit := s.Limits[name]; !limit && amount > 0 && r.stock[name] < 0 {
			e[ResourceOverused] = true
		}
	}
	reserved := kept != nil && kept.Host == in.Host && kept.Job != in.Job
	// The farm leaves a reserved host out of Eligible.
	e[HostRefusesJob] = !reserved && !job.Narrowed && !s.Serves(in.Job, in.Host)
	slots := s.taken(i)
	e[RequestChanged] = slots < job.Slots || job.MostSlots >= 0 && slots > max(job.Slots, job.MostSlots) ||
		in.Holds != nil && !maps.Equal(in.Holds, job.Takes)
	e[HostReserved] = reserved && !job.Beside[in.Kind]
	return e
}
