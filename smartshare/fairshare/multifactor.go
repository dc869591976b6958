package fairshare

import "math"

// Multifactor is one number for each factor of the multifactor order: the weights of a site, or the factors
// of a job, each in [0,1]. It is the order of Slurm's priority/multifactor plugin: a job's place is the sum
// of its factors, each times its weight.
type Multifactor struct{ Age, Fairshare, Priority, Size float64 }

// Times are the terms of the sum, in points.
func (weights Multifactor) Times(factors Multifactor) Multifactor {
	return Multifactor{weights.Age * factors.Age, weights.Fairshare * factors.Fairshare,
		weights.Priority * factors.Priority, weights.Size * factors.Size}
}

// Points is the sum, rounded to whole points, as in Slurm: what differs by less does not order jobs.
func (weights Multifactor) Points(factors Multifactor) float64 {
	t := weights.Times(factors)
	return math.Round(t.Age + t.Fairshare + t.Priority + t.Size)
}

// AgeFactor grows with the time waited, up to 1 at the most that counts. Both are in seconds.
func AgeFactor(waited, most float64) float64 {
	if most <= 0 {
		return 0
	}
	return min(1, max(0, waited)/most)
}

// PriorityFactor is 1 for priority 1, the best, and 0 for the worst.
func PriorityFactor(priority, worst int) float64 {
	if worst <= 1 {
		return 1
	}
	return min(1, max(0, float64(worst-priority)/float64(worst-1)))
}

// SizeFactor is the part of the farm's slots that a job asks for as its floor, at most 1.
func SizeFactor(slots, farm float64) float64 { return min(1, max(0, partOf(slots, farm))) }
