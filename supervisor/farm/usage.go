package farm

import (
	"math"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/facts"
)

// books is what everybody has used, and is due.
type books struct {
	usage   map[facts.Payer]*facts.UsageFacts
	changed []facts.Payer // whose rows the next batch writes
	dirty   map[facts.Payer]bool
	shares  map[string]facts.ShareFacts
	credit  map[string]facts.UsageFacts // by owner; CPU holds the decayed sum
	credits int
	whole   *fairshare.Resources // of all known hosts; nil: to be counted

	standing map[facts.Payer]float64 // factors of the plan in the making; nil: not yet asked for
}

func newBooks() books {
	return books{usage: map[facts.Payer]*facts.UsageFacts{}, dirty: map[facts.Payer]bool{}, shares: map[string]facts.ShareFacts{}, credit: map[string]facts.UsageFacts{}}
}

// takeUpBooks takes the books up from the rows. What runs is counted from the live attempts themselves.
func (f *Farm) takeUpBooks(rows facts.Facts) {
	for _, u := range rows.Usage {
		f.books.usage[u.Payer] = &u
	}
	for _, s := range rows.Shares {
		f.books.shares[s.Path] = s
	}
	for _, c := range rows.Credits {
		f.enterCredit(c)
	}
}

// Most that counts of one attempt, in seconds: beyond it the clock is wrong, not the work long.
const maxWall = 1e9

// chargeEnd enters an ended attempt into the books. It is called once for each end, in the step that
// writes it, so that end and charge are durable together.
func (f *Farm) chargeEnd(now time.Time, i *instance, end *facts.EndAttempt) {
	wall := end.Wall
	if wall == 0 && (end.State == facts.Lost || end.State == facts.Killed || end.State == facts.Preempted) {
		wall = f.heldFor(now, i)
	}
	end.Charge = chargeOf(f.rate(i, end.Peak), bounded(wall))
	end.Charged = end.State != facts.Preempted || f.policy.Fairshare.ChargePreempted
	if end.Charged && end.Charge != (facts.Charge{}) {
		f.chargePayer(facts.Payer{Account: i.job.Account, Owner: i.attempt.Owner}, end.Charge, end.EndedAt)
	}
}

// heldFor is how long the instance has its attempt, at most until the lease ended: what the worker did not say is
// taken to have run so long. Grace and margin come after that: they are the farm's patience, nothing runs in them.
func (f *Farm) heldFor(now time.Time, i *instance) float64 {
	if end := i.leaseEnds.Add(f.policy.ExecutionLease - f.leaseInFull()); now.After(end) {
		now = end
	}
	return bounded(now.Sub(i.attempt.StartedAt).Seconds())
}

func bounded(wall float64) float64 {
	if !(wall > 0) { // not a number either
		return 0
	}
	return min(wall, maxWall)
}

func (f *Farm) chargePayer(p facts.Payer, c facts.Charge, at time.Time) {
	u := f.books.usage[p]
	if u == nil {
		u = &facts.UsageFacts{Payer: p, At: facts.RowTime(at)}
		f.books.usage[p] = u
	}
	*u = u.Plus(c, at, f.policy.Fairshare.HalfLife)
	if !f.books.dirty[p] {
		f.books.dirty[p] = true
		f.books.changed = append(f.books.changed, p)
	}
}

// writeUsage puts the rows of all who were charged since the last batch into this one.
func (f *Farm) writeUsage() {
	for _, p := range f.books.changed {
		f.out.Write(facts.ChargeUsage{Usage: *f.books.usage[p]})
		delete(f.books.dirty, p)
	}
	f.books.changed = f.books.changed[:0]
}

// rate is what the instance uses each second, in CPU equivalents of the reference machine. Memory is what
// it reserved, or the most that it was seen to have.
func (f *Farm) rate(i *instance, peak int64) fairshare.Resources {
	r := fairshare.Resources{CPUs: float64(i.slots), Memory: float64(max(i.attempt.Memory, i.memory, peak, 0))}
	if len(i.attempt.Holds) > 0 {
		r.GPUs, r.Scratch = float64(i.attempt.Holds["host.gpus"]), float64(i.attempt.Holds["host.scratch"])
	}
	most := f.policy.Fairshare.PE == "max"
	whole := f.wholeFarm()
	if most {
		whole = i.host.whole()
	}
	whole.CPUs = max(whole.CPUs, r.CPUs) // a host that has not said what it has
	r = fairshare.SharesOfEquivalent(r, whole, most)
	spec := i.host.spec()
	return fairshare.Resources{CPUs: r.CPUs * spec, Memory: r.Memory * spec, GPUs: r.GPUs * spec, Scratch: r.Scratch * spec}
}

// spec is the host's speed; 1 is the reference.
func (h *host) spec() float64 {
	if !(h.Spec > 0) || math.IsInf(h.Spec, 0) {
		return 1
	}
	return h.Spec
}

func chargeOf(rate fairshare.Resources, wall float64) facts.Charge {
	return facts.Charge{CPU: rate.CPUs * wall, RAM: rate.Memory * wall, GPU: rate.GPUs * wall, Scratch: rate.Scratch * wall}
}

func (h *host) whole() fairshare.Resources {
	return fairshare.Resources{CPUs: float64(h.Slots), Memory: float64(max(h.Memory, 0)),
		GPUs: float64(h.Stock("host.gpus")), Scratch: float64(h.Stock("host.scratch"))}
}

// wholeFarm are the totals of all known hosts, heard or not: a host that is off must not make all other
// work dearer.
func (f *Farm) wholeFarm() fairshare.Resources {
	if f.books.whole == nil {
		var sum fairshare.Resources
		for _, h := range f.sortedHosts() {
			w := h.whole()
			sum.CPUs, sum.Memory, sum.GPUs, sum.Scratch = sum.CPUs+w.CPUs, sum.Memory+w.Memory, sum.GPUs+w.GPUs, sum.Scratch+w.Scratch
		}
		f.books.whole = &sum
	}
	return *f.books.whole
}
