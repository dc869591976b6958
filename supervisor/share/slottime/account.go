package slottime

import "math"

// Policy says how equal jobs that compete for slots share slot time.
type Policy struct {
	Mode     string // off, stride, lottery
	By       string // users, jobs
	Seed     uint64 // of the lottery
	Quantile float64
}

// On says whether they share it at all.
func (p Policy) On() bool { return p.Mode == "stride" || p.Mode == "lottery" }

// ByUsers says that users share it, and then the jobs of each.
func (p Policy) ByUsers() bool { return p.On() && p.By == "users" }

// Account is what a contender, a job or a user, has had.
type Account struct {
	settled  float64 // slot seconds per weight of ended attempts, and where it joined
	weight   float64 // 0 is 1
	contends bool    // it runs or waits, as of the last plan
}

// Weight is how many parts of the time are due to it.
func (a *Account) Weight() float64 {
	if a.weight > 0 {
		return a.weight
	}
	return 1
}

func (a *Account) charge(slotSeconds float64) { a.settled += slotSeconds / a.Weight() }

// With is what it has had per weight, so many slot seconds of what runs included.
func (a *Account) With(slotSeconds float64) float64 { return a.settled + slotSeconds/a.Weight() }

// contender is who may share, as of a plan.
type contender struct {
	*Account
	active  bool    // it runs or waits
	running float64 // slot seconds of what runs
}

// admit lets contenders into the sharing and out of it: who comes, or comes back, starts level with the least of those
// that are in it, so that nothing is banked. When sharing begins, all start level.
func admit(all []contender) {
	least := math.Inf(1)
	for _, c := range all {
		if c.active && c.contends {
			least = min(least, c.With(c.running))
		}
	}
	for _, c := range all {
		if own := c.With(c.running); c.active && !c.contends {
			if math.IsInf(least, 1) {
				c.settled -= own
			} else if own < least {
				c.settled += least - own
			}
		}
		c.contends = c.active
	}
}
