package storetest

import (
	"math"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/store/rules"
)

// dayEnd is the moment to which the sums of a day are decayed.
func dayEnd(day time.Time) time.Time { return day.Add(24 * time.Hour) }

// left is the part of a use that is left after an age; beyond 900 half-lives it no longer shrinks, as in Postgres.
func left(age, halfLife time.Duration) float64 {
	if halfLife <= 0 {
		return 1
	}
	return math.Exp2(-min(max(age, 0).Seconds()/halfLife.Seconds(), 900))
}

// besides divides marks into those that lie at or over the outcomes and the rest.
func besides(marks []facts.Mark, outcomes []rules.Outcome) (near, far []facts.Mark) {
	for _, m := range marks {
		step := facts.ItemNo(m.Step)
		if len(outcomes) > 0 && m.Last+step >= outcomes[0].Item && m.First <= outcomes[len(outcomes)-1].Item+step {
			near = append(near, m)
		} else {
			far = append(far, m)
		}
	}
	return near, far
}
