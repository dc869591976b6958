package farm

import (
	"math"
	"time"

	"qb/smartshare/fairshare"
)

// books is what everybody has used, and is due.
type books struct {
	usage   map[Payer]*UsageFacts
	changed []Payer // whose rows the next batch writes
	dirty   map[Payer]bool
	shares  map[string]ShareFacts
	credit  map[string]UsageFacts // by owner; CPU holds the decayed sum
	credits int
	whole   *fairshare.Resources // of all known hosts; nil: to be counted

	standing map[Payer]float64 // factors of the plan in the making; nil: not yet asked for
}

func newBooks() books {
	return books{usage: map[Payer]*UsageFacts{}, dirty: map[Payer]bool{}, shares: map[string]ShareFacts{}, credit: map[string]UsageFacts{}}
}

// takeUpBooks takes the books up from the rows. What runs is counted from the live attempts themselves.
func (f *Farm) takeUpBooks(facts Facts) {
	for _, u := range facts.Usage {
		f.books.usage[u.Payer] = &u
	}
	for _, s := range facts.Shares {
		f.books.shares[s.Path] = s
	}
	for _, c := range facts.Credits {
		f.enterCredit(c)
	}
}

// Most that counts of one attempt, in seconds: beyond it the clock is wrong, not the work long.
const maxWall = 1e9

// chargeEnd enters an ended attempt into the books. It is called once for each end, in the step that
// writes it, so that end and charge are durable together.
func (f *Farm) chargeEnd(now time.Time, i *instance, end *EndAttempt) {
	wall := end.Wall
	if wall == 0 && (end.State == Lost || end.State == Killed || end.State == Preempted) {
		wall = f.heldFor(now, i)
	}
	end.Charge = chargeOf(f.rate(i, end.Peak), bounded(wall))
	end.Charged = end.State != Preempted || f.policy.Fairshare.ChargePreempted
	if end.Charged && end.Charge != (Charge{}) {
		f.chargePayer(Payer{i.job.Account, i.attempt.Owner}, end.Charge, end.EndedAt)
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

func (f *Farm) chargePayer(p Payer, c Charge, at time.Time) {
	u := f.books.usage[p]
	if u == nil {
		u = &UsageFacts{Payer: p, At: exactly(at)}
		f.books.usage[p] = u
	}
	*u = u.charged(c, at, f.policy.Fairshare.HalfLife)
	if !f.books.dirty[p] {
		f.books.dirty[p] = true
		f.books.changed = append(f.books.changed, p)
	}
}

// writeUsage puts the rows of all who were charged since the last batch into this one.
func (f *Farm) writeUsage() {
	for _, p := range f.books.changed {
		f.write(ChargeUsage{Usage: *f.books.usage[p]})
		delete(f.books.dirty, p)
	}
	f.books.changed = f.books.changed[:0]
}

// exactly is a time as the rows keep it.
func exactly(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// charged is usage after a charge; one that comes late decays from when it was due.
func (u UsageFacts) charged(c Charge, at time.Time, halfLife time.Duration) UsageFacts {
	at = exactly(at)
	age := at.Sub(u.At).Seconds()
	add := func(value, amount float64) float64 {
		return fairshare.Usage{Value: value}.Charge(age, amount, halfLife.Seconds()).Value
	}
	u.Charge = Charge{add(u.CPU, c.CPU), add(u.RAM, c.RAM), add(u.GPU, c.GPU), add(u.Scratch, c.Scratch)}
	if age > 0 {
		u.At = at
	}
	return u
}

// read is usage decayed to a moment.
func (u UsageFacts) read(now time.Time, halfLife time.Duration) Charge {
	left := fairshare.Usage{Value: 1}.Read(now.Sub(u.At).Seconds(), halfLife.Seconds())
	return Charge{u.CPU * left, u.RAM * left, u.GPU * left, u.Scratch * left}
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

func chargeOf(rate fairshare.Resources, wall float64) Charge {
	return Charge{rate.CPUs * wall, rate.Memory * wall, rate.GPUs * wall, rate.Scratch * wall}
}

func (h *host) whole() fairshare.Resources {
	return fairshare.Resources{CPUs: float64(h.Slots), Memory: float64(max(h.Memory, 0)),
		GPUs: float64(h.stock("host.gpus")), Scratch: float64(h.stock("host.scratch"))}
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
