package fairshare

import "math"

// Usage is a decaying sum of charges: its value at a moment, in seconds of CPU equivalents. Decay is
// exponential, hence the same however often it is read, and needs no sweep.
type Usage struct {
	Value float64
	At    float64 // seconds; the moment at which Value held
}

// Read is the usage at a moment; before At nothing has decayed. A half-life of zero or less means that
// nothing ever does.
func (u Usage) Read(now, halfLife float64) float64 {
	if halfLife <= 0 || now <= u.At {
		return u.Value
	}
	return u.Value * math.Exp2(-(now-u.At)/halfLife)
}

// Charge is the usage after an amount has been charged at a moment. A late charge decays from when
// it was due.
func (u Usage) Charge(now, amount, halfLife float64) Usage {
	if now < u.At {
		return Usage{u.Value + Usage{amount, now}.Read(u.At, halfLife), u.At}
	}
	return Usage{u.Read(now, halfLife) + amount, now}
}

// HalfLife is the time in which usage halves if a factor below 1 is left of it after each period.
func HalfLife(factor, period float64) float64 { return period * math.Ln2 / -math.Log(factor) }

// Resources are what a machine or a whole farm has, or an instance takes of it.
type Resources struct{ CPUs, Memory, GPUs, Scratch float64 }

// fractions are the parts of a whole that resources take; of what the whole has none, none.
func (r Resources) fractions(of Resources) [4]float64 {
	return [4]float64{partOf(r.CPUs, of.CPUs), partOf(r.Memory, of.Memory), partOf(r.GPUs, of.GPUs),
		partOf(r.Scratch, of.Scratch)}
}

// Factor tells how far an owner is from using more than its share: 1 unused, 0.5 at its share, towards 0
// above. Both are fractions of all usage and of all shares.
func Factor(usage, share float64) float64 {
	if share <= 0 {
		return 0
	}
	return math.Exp2(-max(usage, 0) / share)
}

// InheritedUsage is the fraction of usage that counts for a member of a group: its own, and of what the
// group's factor is above that, the member's part of the group's shares.
func InheritedUsage(own, group, part float64) float64 { return own + (group-own)*part }

// Credit limits: each point of credit adds a quarter of the base, up to three times the base in all.
const (
	CreditStep     = 0.25
	CreditMost     = 3.0
	CreditHalfLife = 730 * 86400.0 // seconds
)

// Credited is the shares of an owner with a decayed sum of credit.
func Credited(base, credit float64) float64 {
	return base * min(CreditMost, 1+CreditStep*max(credit, 0))
}

// Weight couples surplus to fairshare: the owner's factor, rounded to eighths, never zero.
func Weight(factor float64) float64 { return max(math.Round(factor*8), 1) / 8 }
