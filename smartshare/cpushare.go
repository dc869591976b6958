package smartshare

// Contender is one who asks for slots again and again, a user or a job, as the CPU-time share sees it.
type Contender struct {
	VTime  float64 // virtual time: slot seconds received per weight
	Weight float64 // above zero
}

// Yields says whether an instance gives its slot back at an item's boundary: a waiting contender must be
// behind by more than one item of its own, so that two do not change places for ever.
func (c Contender) Yields(waiting Contender, itsItem float64) bool {
	return waiting.VTime+itsItem/waiting.Weight < c.VTime
}

// FirstEstimate is how long an item is taken to run before any has returned, in seconds.
const FirstEstimate = 3600.0
