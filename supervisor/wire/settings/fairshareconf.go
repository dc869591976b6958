package settings

import (
	"fmt"
	"math"
	"time"

	"qb/smartshare"
	"qb/smartshare/fairshare"
	"qb/supervisor/farm/accounting"
)

const (
	defaultHalfLife = Duration(115*time.Hour + 39*time.Minute)
	maxHalfLife     = Duration(10 * 365 * Day)
)

// checkDecay looks at the half-life that is said as factor and period.
func (c Config) checkDecay(check func(ok bool, key string, value any, wayOut string)) {
	const factor, period = "supervisor_fairshare_decay_factor", "supervisor_fairshare_decay_period"
	if c.DecayFactor == 0 && c.DecayPeriod == 0 {
		return
	}
	check(c.FairshareHalf == defaultHalfLife, "supervisor_fairshare_half_life", c.FairshareHalf,
		fmt.Sprintf("%s = %v sets another half-life; remove one of the two", factor, c.DecayFactor))
	if !(c.DecayFactor > 0 && c.DecayFactor < 1) {
		check(false, factor, c.DecayFactor, "use more than 0 and less than 1, such as 0.75, with "+period)
		return
	}
	check(c.DecayPeriod >= Duration(time.Second) && c.DecayPeriod <= maxHalfLife, period, c.DecayPeriod,
		fmt.Sprintf("use 1s to %s, the time to which %s belongs", maxHalfLife, factor))
	half := fairshare.HalfLife(c.DecayFactor, c.DecayPeriod.Std().Seconds())
	check(half <= maxHalfLife.Std().Seconds(), factor, c.DecayFactor,
		fmt.Sprintf("in %s that is a half-life of %.0f days; use one of at most %s", c.DecayPeriod, half/86400, maxHalfLife))
}

// HalfLife is the half-life of past use, whichever setting gives it; 0: past use never decays.
func (c Config) HalfLife() time.Duration {
	if c.DecayFactor == 0 {
		return c.FairshareHalf.Std()
	}
	return time.Duration(math.Round(fairshare.HalfLife(c.DecayFactor, float64(c.DecayPeriod))))
}

// maxPoints bounds a weight of the order multifactor.
const maxPoints = 1e9

// checkMultifactor looks at the weights of the order multifactor.
func (c Config) checkMultifactor(check func(ok bool, key string, value any, wayOut string)) {
	weight := func(key string, v, least float64) {
		check(v >= least && v <= maxPoints, key, v, fmt.Sprintf("use %.0f to %.0f", least, maxPoints))
	}
	weight("supervisor_multifactor_age", c.PointsAge, 0)
	weight("supervisor_multifactor_fairshare", c.PointsFairshare, 0)
	weight("supervisor_multifactor_priority", c.PointsPriority, 0)
	weight("supervisor_multifactor_size", c.PointsSize, -maxPoints)
	all := c.PointsAge + c.PointsFairshare + c.PointsPriority + math.Abs(c.PointsSize)
	check(c.QueueAlgorithm != "multifactor" || all != 0, "supervisor_queue_algorithm", `"multifactor"`,
		"all points are 0; set one of supervisor_multifactor_age, _fairshare, _priority, _size")
}

// RanksOwners says whether fairshare ranks owners before their priorities do: it is on, and everybody may ask for any
// priority.
func (c Config) RanksOwners() bool {
	return c.Fairshare == "order" && c.HighestUser == 1 && c.QueueAlgorithm != "multifactor"
}

// order is the dispatch order that the site has chosen.
func (c Config) order() []string {
	terms := smartshare.ClusterOrder
	switch byOwner := c.RanksOwners(); {
	case c.QueueAlgorithm == "multifactor":
		terms = smartshare.MultifactorOrder
	case byOwner && c.QueueAlgorithm == "priority":
		terms = smartshare.OwnersPriorityOrder
	case byOwner:
		terms = smartshare.OwnersClusterOrder
	case c.QueueAlgorithm == "priority":
		terms = smartshare.PriorityOrder
	}
	names := make([]string, len(terms))
	for n, t := range terms {
		names[n] = t.String()
	}
	return names
}

func (c Config) multifactorPolicy() accounting.Multifactor {
	return accounting.Multifactor{MaxAge: c.PointsMaxAge.Std(), Weights: fairshare.Multifactor{
		Age: c.PointsAge, Fairshare: c.PointsFairshare, Priority: c.PointsPriority, Size: c.PointsSize}}
}

func (c Config) fairsharePolicy() accounting.Policy {
	return accounting.Policy{Accounts: c.Accounts, Order: c.Fairshare == "order", Weights: c.ShareWeights == "fairshare",
		PE:   c.FairsharePE,
		Rule: c.FairshareRule, HalfLife: c.HalfLife(), ChargePreempted: c.FairsharePay}
}
