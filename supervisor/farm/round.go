package farm

import "qb/supervisor/farm/model"

// A tick looks at all hosts of a farm of up to ticksAll. Of a larger one it looks at a part, so that ticksRound ticks
// see all: held answers, silence and locks that end are noticed up to that many ticks late there. Slow items are
// looked for in parts of ticksAll hosts, one part a tick.
const (
	ticksAll   = 500
	ticksRound = 5
)

// round goes through the hosts in parts, again and again. A host that comes or goes meanwhile may let one be looked at
// twice, or in the next round.
type round struct{ at int }

// next is the next part, of at most that many hosts, and whether it has the last host.
func (r *round) next(hosts []*model.Host, most int) (part []*model.Host, last bool) {
	if r.at >= len(hosts) {
		r.at = 0
	}
	end := min(r.at+most, len(hosts))
	part = hosts[r.at:end]
	r.at = end
	return part, end == len(hosts)
}

// back has the last hosts of a part looked at by the next one.
func (r *round) back(hosts int) { r.at = max(0, r.at-hosts) }
