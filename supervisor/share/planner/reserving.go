package planner

import (
	"cmp"
	"slices"
	"strings"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// Reservation keeps a host for the head of the queue, a job whose instances take several slots and fit nowhere: a
// thousand narrow jobs would else take every slot as it comes free. Others may use the host only if their item ends
// before the head can start (EASY backfill; Lifka, JSSPP 1995), by their mean item time.
type Reservation struct {
	Job, Host int
	Slots     int     // of the primary that it waits for
	At        float64 // when they will be free, by the mean item times
	Sure      float64 // not before then; what nothing is known of may end any moment
	Primaries int     // of the job once the plan is made; it waits until it has another
}

// UnknownItem is for how many seconds an item is taken to run while none of its job has ended, or while it is
// suspended.
const UnknownItem = 3600

// End is when an instance gives back what it takes of its host.
type End struct {
	At    float64 // by the mean item time of its job
	Sure  float64 // not before then
	Slots int
	Holds map[string]int64
}

// EndOf estimates the end of an item that began at a time, was suspended for was seconds, and has an expected run
// time. An overdue item may end at any moment. Without a known run time Sure is now: backfill must not rely on the
// item's length.
func EndOf(now, began, seconds, stood float64, known, suspended bool) End {
	e := End{At: now + UnknownItem, Sure: now + UnknownItem}
	if suspended {
		return e
	}
	e.At, e.Sure = max(now, began+seconds+stood), now
	if known {
		e.Sure = e.At
	}
	return e
}

// FreeAt estimates when a host has enough free slots and resources for a job, if no instance there takes another item.
func FreeAt(now float64, free int, left map[string]int64, ends []End, slots int,
	takes map[string]int64) (at, sure float64) {
	at = freeAt(now, free, left, ends, slots, takes, func(e *End) float64 { return e.At })
	sure = freeAt(now, free, left, ends, slots, takes, func(e *End) float64 { return e.Sure })
	return at, sure
}

func freeAt(now float64, free int, left map[string]int64, ends []End, slots int, takes map[string]int64,
	when func(*End) float64) float64 {
	amounts := map[string]int64{}
	for name := range takes {
		if strings.HasPrefix(name, "host.") {
			amounts[name] = left[name]
		}
	}
	enough := func() bool {
		for name := range amounts {
			if amounts[name] < takes[name] {
				return false
			}
		}
		return free >= slots
	}
	if enough() {
		return now
	}
	slices.SortStableFunc(ends, func(a, b End) int { return cmp.Compare(when(&a), when(&b)) })
	for n := range ends {
		free += ends[n].Slots
		for name := range amounts {
			amounts[name] += ends[n].Holds[name]
		}
		if enough() {
			return when(&ends[n])
		}
	}
	return now + UnknownItem
}

// OrderAttributes is what the dispatch order knows of a job apart from its age and what its owner has had.
type OrderAttributes struct {
	User               string
	Priority, Operator int
	Cluster            string
}

// Keys are the sort keys of two jobs on a host, without their ages. Where fairshare ranks owners, the priorities of two
// owners are not compared. Viewpoint is the cluster from which the farm ranks jobs where the order does not begin with
// the cluster.
func (p *SharePolicy) Keys(a, b OrderAttributes, viewpoint, host string) (x, y smartshare.Key) {
	by, from := p.Terms(), viewpoint
	if len(by) > 0 && by[0] == smartshare.ByCluster {
		from = host
	}
	x = p.KeyOf(a.Priority, a.Operator, ClusterDistance(by, a.Cluster, from))
	y = p.KeyOf(b.Priority, b.Operator, ClusterDistance(by, b.Cluster, from))
	if p.ByOwner() && a.User != b.User {
		x.Priority, y.Priority = 0, 0
	}
	return x, y
}

// Outranks reports whether job a comes before b in the dispatch order of the host. Ages are not compared.
func (p *SharePolicy) Outranks(a, b OrderAttributes, viewpoint, host string) bool {
	x, y := p.Keys(a, b, viewpoint, host)
	return smartshare.Compare(x, y, p.Terms()) < 0
}

// reserving is what the choice of the reservation looks at.
type reserving struct {
	p         *Plan
	s         *Snapshot
	r         *ledger
	primaries []int   // by job, once the plan is made
	ends      [][]End // by host; nil: not yet asked for
}

// reserve chooses the job that gets the reservation: the first for which instances of other jobs give way, which would
// be useless without it, else the first that fits nowhere. A holder keeps it until it starts, unless a job outranks
// it.
func (p *Plan) reserve(s *Snapshot, r *ledger) {
	if !s.Policy.Reserve {
		return
	}
	waits := func(n int) bool {
		_, gives := p.Yielded[n]
		return s.Jobs[n].Slots > 1 && (gives || p.Jobs[n].Unplaced > 0)
	}
	old := s.Reserved
	if old == nil && !slices.ContainsFunc(p.Order, waits) {
		return
	}
	holder, c := -1, &reserving{p: p, s: s, r: r, primaries: p.primariesMade(s, r)}
	if old != nil && old.Job >= 0 && c.primaries[old.Job] <= old.Primaries && c.lacksPrimary(old.Job) {
		holder = old.Job
	}
	_, left := p.Yielded[holder]
	left = left || slices.ContainsFunc(p.Starts, func(start PlannedStart) bool {
		return start.Job == holder &&
			start.waits()
	})
	for _, helped := range []bool{true, false} {
		held := left || !helped && holder >= 0
		for _, n := range p.Order {
			if held && n == holder {
				p.Reserved = c.reserveFor(n)
				return
			}
			if _, gives := p.Yielded[n]; !waits(n) || helped && !gives || !c.mayHold(n) || held && !c.outranks(n, old) {
				continue
			}
			if p.Reserved = c.reserveFor(n); p.Reserved != nil {
				return
			}
		}
	}
}

// reserveFor chooses the host that has room for job n first, nil if no host serves it: the host where instances give
// way to the job, else the one with the earliest estimate. A host that the job has already is kept, as slots were left
// free there. Hosts where primaries of other jobs are to start are left out.
func (c *reserving) reserveFor(n int) *Reservation {
	meant := c.p.MeantBeside(c.s, n)
	gives, someGive := c.p.Yielded[n]
	may := func(h int) bool {
		return c.s.Hosts[h].Up && c.s.Serves(n, h) && meant[h] == 0 && (!someGive || gives == h)
	}
	if old := c.s.Reserved; old != nil && old.Job == n && may(old.Host) {
		return c.at(n, old.Host)
	}
	var best *Reservation
	for h := range c.s.Hosts {
		if !may(h) {
			continue
		}
		if found := c.at(n, h); best == nil || found.At < best.At {
			best = found
		}
	}
	return best
}

func (c *reserving) at(n, h int) *Reservation {
	job, host := &c.s.Jobs[n], &c.r.present[h]
	at, sure := FreeAt(c.s.Now, host.Free, host.Left, c.endsOn(h), job.Slots, job.Takes)
	return &Reservation{Job: n, Host: h, Slots: job.Slots, At: at, Sure: sure, Primaries: c.primaries[n]}
}

// endsOn lists the estimated ends on a host, those of instances that the plan starts there included.
func (c *reserving) endsOn(h int) []End {
	if c.ends == nil {
		c.ends = make([][]End, len(c.s.Hosts))
		for n := range c.r.present {
			c.ends[n] = slices.Clone(c.r.present[n].Ends)
		}
		for i := range c.s.Running {
			in := &c.s.Running[i]
			c.ends[in.Host] = append(c.ends[in.Host], c.s.endOf(i))
		}
		for n := range c.p.Starts {
			if start := &c.p.Starts[n]; start.When == Now {
				job := &c.s.Jobs[start.Job]
				e := EndOf(c.s.Now, c.s.Now, job.ItemSeconds, 0, !job.Unknown, false)
				e.Slots, e.Holds = start.Slots, job.Takes
				c.ends[start.Host] = append(c.ends[start.Host], e)
			}
		}
	}
	return c.ends[h]
}

func (s *Snapshot) endOf(i int) End {
	in := &s.Running[i]
	job := &s.Jobs[in.Job]
	e := EndOf(s.Now, in.ItemStarted, job.ItemSeconds, in.Stood, !job.Unknown, in.Suspended)
	e.Holds = s.holds(i)
	if !in.Released {
		e.Slots = s.taken(i)
	}
	return e
}

// outranks reports whether job n comes before the holder in the dispatch order of the reserved host.
func (c *reserving) outranks(n int, old *Reserved) bool {
	return c.s.Policy.Outranks(c.s.standing(n), c.s.standing(old.Job), c.s.Cluster, c.s.Hosts[old.Host].Cluster)
}

func (s *Snapshot) standing(n int) OrderAttributes {
	job := &s.Jobs[n]
	return OrderAttributes{User: job.User, Priority: job.Priority, Operator: job.Operator, Cluster: job.Cluster}
}

// mayHold says whether the farm's resources, and the limits of its instances, allow job n another one.
func (c *reserving) mayHold(n int) bool {
	for name, each := range c.s.Jobs[n].Takes {
		if !strings.HasPrefix(name, "host.") && each > 0 && c.r.stock[name] < each {
			return false
		}
	}
	return true
}

func (c *reserving) lacksPrimary(n int) bool {
	return !c.s.Jobs[n].Barred && c.r.items[n] != 0 && c.primaries[n] < c.p.Jobs[n].Floor
}

// primariesMade counts, by job, the primaries that stay and the ones that the plan starts.
func (p *Plan) primariesMade(s *Snapshot, r *ledger) []int {
	made, kinds := smartshare.Lend[int](r.scratch, len(s.Jobs)), make(map[int]facts.Kind, len(p.Promoted)+len(p.Demoted))
	for _, i := range p.Promoted {
		kinds[i] = facts.Primary
	}
	for _, i := range p.Demoted {
		kinds[i] = facts.Secondary
	}
	leaves := smartshare.Lend[bool](r.scratch, len(s.Running))
	for _, i := range p.Leaving {
		leaves[i] = true
	}
	for n := range p.Stops {
		leaves[p.Stops[n].Instance] = p.Stops[n].NotBefore == 0
	}
	for n := range p.Preempted {
		leaves[p.Preempted[n].Instance] = true
	}
	for i := range s.Running {
		kind, relabelled := kinds[i]
		if !relabelled {
			kind = s.Running[i].Kind
		}
		if kind == facts.Primary && !leaves[i] {
			made[s.Running[i].Job]++
		}
	}
	for n := range p.Starts {
		if start := &p.Starts[n]; start.Kind == facts.Primary && start.When == Now {
			made[start.Job]++
		}
	}
	return made
}
