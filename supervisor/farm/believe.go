package farm

import (
	"fmt"
	"math"
	"time"

	"qb/supervisor/message"
	"qb/units"
)

// What a worker may report of an end is bounded by what the farm knows itself.
const (
	clockSlack  = 48 * time.Hour // by which the database's clock may have been set back since another term gave the item
	clockDrift  = 1.02           // of a host's clock against ours
	coresMost   = 4096           // of a host that does not say how many it has
	machineMost = int64(1) << 44 // bytes, of one that does not say either
)

// believed is an end with what cannot be cut to what can: an item ran no longer than since it was given, on no more
// cores than the host has, in no more memory than the machine has. The host is marked.
func (i *instance) believed(now time.Time, p *message.Policy, r message.ReportedEnd) message.ReportedEnd {
	wall := now.Sub(i.attempt.StartedAt) + p.WallSlack
	if i.inherited {
		wall = max(0, wall) + clockSlack
	}
	if p.WallSlack == 0 {
		wall = math.MaxInt64
	}
	cores, memory := i.host.cores, machineMost
	if cores <= 0 {
		cores = coresMost
	}
	if m := i.host.machine; m != nil && m.total > 0 {
		memory = m.total
	}
	was := r
	r.Wall = atMost(r.Wall, clockDrift*wall.Seconds())
	r.CPU = atMost(r.CPU, (r.Wall+1)*float64(cores))
	r.Peak = min(max(0, r.Peak), memory)
	if was.Wall != r.Wall || was.CPU != r.CPU || was.Peak != r.Peak {
		i.host.doubt = fmt.Sprintf("its agent reports an end with a peak of %s, %v s of wall time and %v s of CPU", units.Size(was.Peak), was.Wall, was.CPU)
	}
	return r
}

// atMost is x, or the nearest that can be; what is no number is 0.
func atMost(x, most float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return min(max(0, x), most)
}
