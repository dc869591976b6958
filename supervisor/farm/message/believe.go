package message

import (
	"fmt"
	"math"
	"strings"
	"time"

	"qb/internal/units"
)

// What a worker may report of an end is bounded by what the farm knows itself.
const (
	clockSlack  = 48 * time.Hour // by which the database's clock may have been set back since another term gave the item
	clockDrift  = 1.02           // of a host's clock against ours
	coresMost   = 4096           // of a host that does not say how many it has
	machineMost = int64(1) << 44 // bytes, of a host that does not say either
)

// Bounds are what the farm knows of an attempt that has ended.
type Bounds struct {
	Age       time.Duration // since it was given
	Inherited bool          // in another term
	Slack     time.Duration // by which it may be older than that; 0: any age is believed
	Cores     int           // of its host; 0: not known
	Memory    int64         // of its machine; 0: not known
}

// Within is the end with what cannot be cut to what can: an item ran and was suspended no longer than since it was
// given, on no more cores than the host has, in no more memory than the machine has. It is false if something was cut.
func (r ReportedEnd) Within(b Bounds) (_ ReportedEnd, whole bool) {
	wall := b.Age + b.Slack
	if b.Inherited {
		wall = max(0, wall) + clockSlack
	}
	if b.Slack == 0 {
		wall = math.MaxInt64
	}
	if b.Cores <= 0 {
		b.Cores = coresMost
	}
	if b.Memory <= 0 {
		b.Memory = machineMost
	}
	was := r
	r.Wall = atMost(r.Wall, clockDrift*wall.Seconds())
	r.Suspended = atMost(r.Suspended, clockDrift*wall.Seconds()-r.Wall)
	r.CPU = atMost(r.CPU, (r.Wall+1)*float64(b.Cores))
	r.Peak = min(max(0, r.Peak), b.Memory)
	return r, was.Wall == r.Wall && was.Suspended == r.Suspended && was.CPU == r.CPU && was.Peak == r.Peak
}

// atMost is x, or the nearest that can be; what is no number is 0.
func atMost(x, most float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return min(max(0, x), most)
}

// mostSwapped is more than any machine swaps in a second.
const mostSwapped = int64(1) << 40

// ClampStress cuts what the worker says of its swap to what can be, and says what could not. Of slots that others take
// it said before last; what cannot be changes nothing.
func (e *WorkerSynced) ClampStress(before int) (doubt string) {
	s := &e.Swap
	clamp := func(n *int64, most int64, what string) {
		if *n < 0 || *n > most {
			doubt = fmt.Sprintf(what, units.Size(*n))
			*n = min(max(0, *n), most)
		}
	}
	clamp(&s.Rate, mostSwapped, "%s swapped per second")
	clamp(&s.Used, max(0, s.Total), "%s of swap in use, of "+strings.ReplaceAll(units.Size(s.Total), "%", "%%"))
	clamp(&s.Total, math.MaxInt64, "%s of swap")
	if e.Away < 0 || e.Away > e.Host.Slots {
		doubt = fmt.Sprintf("%d of %d slots in use by others", e.Away, e.Host.Slots)
		e.Away = min(before, max(0, e.Host.Slots))
	}
	return doubt
}

// ClampMemory cuts what the worker says of its machine's memory to what can be, and says what could not, the last of
// it. Total is what the machine has; before is what was said of it last.
func (e *WorkerSynced) ClampMemory(before int64) (total int64, doubt string) {
	if total = e.Total; total == 0 {
		total = e.Host.Memory
	}
	if total < 0 {
		doubt = units.Size(total) + " of memory"
		total = before // no total at all would be no limit: what it said before is likelier
	}
	if e.Reserve < 0 {
		doubt = units.Size(e.Reserve) + " in reserve"
		e.Reserve = 0
	}
	if total > 0 && e.Reserve >= total {
		doubt = fmt.Sprintf("%s in reserve of %s, which leaves nothing for items", units.Size(e.Reserve), units.Size(total))
	}
	if e.Cap < 0 {
		doubt = "that it offers " + units.Size(e.Cap)
	}
	clamp := func(bytes *int64, what string) {
		if total > 0 && (*bytes < 0 || *bytes > total) {
			doubt = fmt.Sprintf("%s %s of %s", units.Size(*bytes), what, units.Size(total))
			*bytes = min(max(0, *bytes), total)
		}
	}
	clamp(&e.Available, "available")
	clamp(&e.Foreign, "in use by others")
	for n := range e.Instances {
		clamp(&e.Instances[n].Memory, "resident")
	}
	e.Available = max(0, e.Available)
	return total, doubt
}
