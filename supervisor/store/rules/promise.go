package rules

import (
	"time"

	"qb/supervisor/job/facts"
)

// NormalPromise is the promise as a row has it, never shorter.
func NormalPromise(p facts.PromiseFacts) facts.PromiseFacts {
	up := func(d time.Duration) time.Duration { return (d + time.Microsecond - 1).Truncate(time.Microsecond) }
	return facts.PromiseFacts{Lease: up(p.Lease), Grace: up(p.Grace), Margin: up(p.Margin), Until: Exact(p.Until)}
}
