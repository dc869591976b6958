package farm

import (
	"cmp"
	"slices"
	"time"

	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// preemptPrimaries lets waiting primaries of a strictly better priority take the slots of worse ones, under
// supervisor_preempt_policy: passive at the end of the item, aggressive at once, disabled never. It acts only for
// primaries that the balance found no slot for, and never between equal priorities. With SmartShare's own preemption
// disabled, secondaries of worse jobs yield likewise. For elite jobs everybody yields at once under any policy.
func (f *Farm) preemptPrimaries(now time.Time, p *snapshot, b planner.Plan) {
	unplaced := func(n int) bool { return b.Jobs[n].Unplaced > 0 && f.preemptPolicy(p.jobs[n]) != "disabled" }
	if !slices.ContainsFunc(b.Order, unplaced) {
		return
	}
	yielding, turns := p.yielding(f.policy.PrimaryPreempt == "passive", b.Order), planner.NewTurns(&p.Snapshot, b)
	helped, sought, byOwner := false, 0, p.Policy.ByOwner()
	for _, n := range b.Order {
		if f.out.Spent() {
			f.planStale = true
			return
		}
		need := b.Jobs[n].Unplaced * p.Jobs[n].Slots
		for len(yielding) > 0 && yielding[0].taken {
			yielding = yielding[1:]
		}
		if len(yielding) == 0 {
			return
		}
		switch one := p.Jobs[n].Slots == 1; {
		case need <= 0, !unplaced(n), p.heldUp(n, yielding):
			continue
		case !one || p.particular(n):
			if sought++; sought <= wideSought && (!helped || one || f.preemptPolicy(p.jobs[n]) == "aggressive") {
				yields := f.preemptWide(now, p, n, yielding, turns)
				helped = helped || yields && !one
			}
			continue
		}
		for at := range yielding {
			y := &yielding[at]
			displaces := p.Displaces(n, y.of)
			if need <= 0 || f.out.Spent() || !displaces && !byOwner {
				break // no other has a worse priority
			}
			if y.taken || !displaces || !p.Serves(n, y.host) || !turns.Comes(n, y.of, y.host) {
				continue
			}
			need -= y.Slots
			f.giveWay(now, y, p.jobs[n])
		}
		if need > 0 && turns.Waits(n) {
			return
		}
	}
}

// preemptPolicy is how others yield to a job's primaries.
func (f *Farm) preemptPolicy(to *model.Job) string {
	if to.Elite() {
		return "aggressive"
	}
	return f.policy.PrimaryPreempt
}

func (f *Farm) giveWay(now time.Time, y *yields, to *model.Job) {
	y.taken, f.doing.job = true, to.ID
	why := facts.Because(facts.ReasonBetterPriority, facts.Params{Job: to.ID}, "")
	if f.preemptPolicy(to) == "aggressive" && !y.Protected() {
		f.stop(now, y.Instance, why)
	} else {
		f.drain(now, y.Instance, why)
	}
}

// yields is an instance that may give way.
type yields struct {
	*model.Instance
	of    int // its job in the plan
	host  int // of the plan
	place int // of its job: the highest yields first
	taken bool
}

// yielding lists the instances that may give way to jobs of better priority: worst priority first, or last in the order
// where fairshare ranks owners, then, under passive, those nearest their end, under aggressive those that lose least.
func (p *snapshot) yielding(passive bool, order []int) []yields {
	var found []yields
	place := func(j int) int { return p.Jobs[j].Priority }
	if p.Policy.ByOwner() {
		ranks := smartshare.Ranks(order)
		place = func(j int) int { return ranks[j] }
	}
	for m, i := range p.instances {
		switch {
		case i.Stopping() || i.Suspended() || i.Job.Kept():
		case i.Kind == facts.Secondary && p.Policy.Preempt != "disabled":
		default:
			found = append(found, yields{i, p.Running[m].Job, p.Running[m].Host, place(p.Running[m].Job), false})
		}
	}
	slices.SortFunc(found, func(a, b yields) int {
		age := b.Attempt.StartedAt.Compare(a.Attempt.StartedAt) // youngest first: loses least
		if passive {
			age = -age
		}
		return cmp.Or(-cmp.Compare(a.place, b.place), -cmp.Compare(a.Kind, b.Kind), age,
			cmp.Compare(a.Job.ID, b.Job.ID), cmp.Compare(a.Number, b.Number))
	})
	return found
}
