package supervisor

import (
	"fmt"
	"math"

	"qb/smartshare"
	"qb/supervisor/farm"
)

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
		"its weights are all 0; set one of supervisor_multifactor_age, _fairshare, _priority, _size")
}

// order is the dispatch order that the site has chosen.
func (c Config) order() []string {
	terms := smartshare.ClusterOrder
	switch c.QueueAlgorithm {
	case "priority":
		terms = smartshare.PriorityOrder
	case "multifactor":
		terms = smartshare.MultifactorOrder
	}
	names := make([]string, len(terms))
	for n, t := range terms {
		names[n] = t.String()
	}
	return names
}

func (c Config) multifactorPolicy() farm.MultifactorPolicy {
	return farm.MultifactorPolicy{MaxAge: c.PointsMaxAge.Std(), Weights: smartshare.Multifactor{
		Age: c.PointsAge, Fairshare: c.PointsFairshare, Priority: c.PointsPriority, Size: c.PointsSize}}
}

func (c Config) fairsharePolicy() farm.FairsharePolicy {
	return farm.FairsharePolicy{Order: c.Fairshare == "order", Weights: c.ShareWeights == "fairshare", PE: c.FairsharePE,
		Rule: c.FairshareRule, HalfLife: c.FairshareHalf.Std(), ChargePreempted: c.FairsharePay}
}
