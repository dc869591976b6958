package farm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/smartshare"
	"qb/supervisor/facts"
	"qb/supervisor/planner"
)

// ongoing is the division of the last plan, kept so that an arrival, an end or a changed demand moves only what
// it must: see planChanges. It stands for as long as nothing else happens; whatever sets dirty ends it.
type ongoing struct {
	*smartshare.Ongoing
	jobs    []*job    // by claim
	running []int     // by claim: primaries
	members [][]*host // by class
	keys    placeKeys
	groups  map[string]int // by what jobs ask of hosts: see keys
	open    [][]*host      // by class: hosts that may have a free slot
	changes []news
	ample   ample
	made    time.Time
	grown   bool // by small plans
	noted   bool // noteWaiting has looked at every claim
}

// keptFor is how long small plans go on from one whole plan. The next finds nothing to move; did a small one
// ever err, this bounds for how long.
const keptFor = 30 * time.Second

const memoryDecides = "memory may decide where instances run"

// aged says whether a whole plan is due again after small ones.
func (o *ongoing) aged(now time.Time) bool {
	age := now.Sub(o.made)
	return o.grown && (age < 0 || age >= keptFor)
}

// news is what planChanges looks at.
type news struct {
	job   *job
	host  *host // where an instance has ended; nil: the job has come, or its demand has changed
	kind  facts.Kind
	class int
	gone  bool // the division counted without the instance already
}

// keepDivision keeps the division of a plan that was just applied, if planChanges could go on from it.
func (f *Farm) keepDivision(now time.Time, p *planned, b planner.Plan) {
	f.ongoing = nil
	if f.unkept = f.cannotKeep(p, b); f.unkept != "" {
		return
	}
	o := newOngoing(f, p)
	o.made = now
	for n, j := range p.jobs {
		o.add(f, j, o.groupOf(p, n))
	}
	free, why := o.book()
	if f.unkept = why; why != "" {
		return
	}
	for _, s := range p.awaited {
		class := p.hosts[s.Host].class
		if class < 0 {
			f.unkept = "a start waits on a host that takes no work"
			return
		}
		free[class]--
		o.Promise(p.jobs[s.Job].claim, class, smartshare.Kind(s.Kind))
	}
	for class, n := range free {
		if n < 0 {
			f.unkept = "a host holds more than its slots"
			return
		}
		o.SetRoom(class, n)
	}
	if o.ample.prove(f, p); o.ample.decides() {
		f.unkept = memoryDecides
		return
	}
	for n, j := range p.jobs {
		vacant := o.demand(f, j.claim)
		ahead, _ := o.Promised(j.claim)
		if len(vacant) > 0 || o.running[j.claim]+ahead != b.Jobs[n].Primary || o.Level(j.claim) != b.Jobs[n].Secondary {
			f.unkept = "a start waits that its job has no item for"
			return
		}
	}
	f.ongoing = o
}

// cannotKeep says why changes after this plan cannot be planned one by one, "" if they can.
func (f *Farm) cannotKeep(p *planned, b planner.Plan) string {
	s := f.policy.Share
	switch {
	case s.ByUser():
		return "the surplus is divided by user"
	case s.Preempt != "aggressive" || !s.Promote:
		return "secondaries are not stopped at once"
	case f.policy.CPUShare.on() || f.policy.Fairshare.Order || f.policy.Fairshare.Weights || s.ByPoints():
		return "the order of jobs changes by itself"
	case len(f.hungry) > 0:
		return "a job waits for memory"
	case f.reserved != nil:
		return "a host is kept for a wide job"
	case p.keys.choosy:
		return "a host does not run the items of everybody"
	case p.outside:
		return "a job runs where it may start no more"
	case f.dirty || !f.replanAt.IsZero() || len(b.Leaving) > 0 || p.missed:
		return "the plan is not settled"
	case s.Order[0] == smartshare.ByCluster.String() && p.manyClusters():
		return "hosts of several clusters rank the jobs each for itself"
	}
	for _, j := range p.jobs {
		if why := j.special(); why != "" {
			return why
		}
	}
	for _, j := range f.jobs {
		if len(j.instances) > 0 && (j.State != facts.Active || j.remaining() == 0) && j.held() > 0 {
			return "a job that takes no items runs"
		}
	}
	return ""
}

// special says what of the job's needs planChanges does not look at, "" if all is simple: one slot, on hosts
// that are told apart by what does not change while they run something.
func (j *job) special() string {
	n := j.needs
	switch {
	case n.slots != 1 || n.most == agenda.Unlimited || n.most > 1 || n.idle:
		return "an instance takes other than one slot"
	case len(n.takes) > 0:
		return "an instance takes more than a slot"
	case len(n.order) > 0:
		return "a job prefers some hosts"
	}
	if n.looksAtRunning() || slices.ContainsFunc(n.required.Properties(), func(name string) bool { return strings.HasPrefix(name, "job.") }) {
		return "a requirement looks at the job itself, or at what runs"
	}
	return ""
}

// looksAtRunning says whether a requirement looks at what changes with what a host runs.
func (n needs) looksAtRunning() bool {
	return slices.ContainsFunc(n.required.Properties(), func(name string) bool {
		return slices.Contains(passing, name) || strings.HasPrefix(name, "host.duty.")
	})
}

// passing are properties that change with what runs.
var passing = []string{"host.processors.used", "host.processors.avail", "host.memory.avail"}

// newOngoing classes the hosts by the lists of the plan.
func newOngoing(f *Farm, p *planned) *ongoing {
	o := &ongoing{keys: p.keys, groups: make(map[string]int, len(p.allowed))}
	r := planner.NewRefiner(len(p.hosts))
	all := r.Fresh()
	for n := range p.hosts {
		if p.Hosts[n].Up {
			r.Put(n, all)
		}
	}
	keys := slices.Sorted(maps.Keys(p.allowed))
	for _, key := range keys {
		if p.allowed[key] != nil {
			r.Split(p.allowed[key])
		}
	}
	number := make([]int, r.Classes) // plus one
	for n, h := range p.hosts {
		h.class, h.listed = -1, false
		if r.Class[n] < 0 {
			continue
		}
		at := &number[r.Class[n]]
		if *at == 0 {
			o.members = append(o.members, nil)
			*at = len(o.members)
		}
		h.class = *at - 1
		o.members[h.class] = append(o.members[h.class], h)
	}
	o.open = make([][]*host, len(o.members))
	o.Ongoing = smartshare.NewOngoing(make([]int, len(o.members)), p.Policy.Terms())
	for _, key := range keys {
		o.groups[key] = o.AddGroup(o.classesOf(p.hosts, p.allowed[key]))
	}
	p.groups = map[*int]int{}
	for _, key := range keys {
		if list := p.allowed[key]; len(list) > 0 {
			p.groups[&list[0]] = o.groups[key]
		} else if list == nil {
			p.groups[nil] = o.groups[key]
		}
	}
	p.nowhere = o.AddGroup(nil)
	return o
}

// classesOf are the classes of a list of hosts, nil being all.
func (o *ongoing) classesOf(hosts []*host, list []int) []int {
	var open []int
	if list == nil {
		for class := range o.members {
			open = append(open, class)
		}
		return open
	}
	for _, n := range list {
		if c := hosts[n].class; c >= 0 && o.members[c][0] == hosts[n] {
			open = append(open, c)
		}
	}
	return open
}

// groupOf finds the group of the plan's nth job by its list, which it shares with all that ask for the same.
func (o *ongoing) groupOf(p *planned, n int) int {
	list := p.Jobs[n].Eligible
	switch {
	case list == nil:
		return p.groups[nil]
	case len(list) == 0:
		return p.nowhere
	}
	return p.groups[&list[0]]
}

// add makes the job a claim.
func (o *ongoing) add(f *Farm, j *job, group int) {
	j.claim = o.Add(group, smartshare.Key{Priority: j.Priority, Distance: planner.ClusterDistance(f.policy.Share.Terms(), j.Cluster, f.viewpoint),
		Fairshare: 1, Submit: int64(j.ID), Tie: int(j.ID)})
	o.jobs, o.running = append(o.jobs, j), append(o.running, 0)
}

// claimOf is the job's claim; false if it has none.
func (o *ongoing) claimOf(j *job) (claim int, ok bool) {
	return j.claim, j.claim < len(o.jobs) && o.jobs[j.claim] == j
}

// book enters what runs, and gives the slots of each class that nobody holds; or it says why it cannot.
func (o *ongoing) book() (free []int, why string) {
	free = make([]int, len(o.members))
	for class, hosts := range o.members {
		for _, h := range hosts {
			if h.used > h.Slots {
				return nil, "a host holds more than its slots"
			}
			free[class] += h.Slots
			o.opened(h)
		}
	}
	for claim, j := range o.jobs {
		for _, i := range j.muster().held {
			switch {
			case i.draining:
				return nil, "an instance leaves at the end of its item"
			case len(j.preempted) > 0 && i.protected():
				return nil, "an instance may not be stopped"
			case i.host.class >= 0:
				free[i.host.class]--
			}
			if i.kind == facts.Primary {
				o.running[claim]++
			} else {
				o.Hold(claim, i.host.class)
			}
		}
	}
	return free, ""
}

// opened notes that the host may have a free slot.
func (o *ongoing) opened(h *host) {
	if h.class >= 0 && h.free() > 0 && !h.listed {
		h.listed = true
		o.open[h.class] = append(o.open[h.class], h)
	}
}

// demand tells the division what the claim's job could use now, and gives the classes of slots that it was
// promised and cannot.
func (o *ongoing) demand(f *Farm, claim int) (vacant []int) {
	j := o.jobs[claim]
	remaining := 0
	if j.State == facts.Active {
		_, later := o.Promised(claim)
		remaining = j.pending() + o.running[claim] + o.Level(claim) - later
	}
	floor, ceiling := planner.JobBounds(&planner.SnapJob{CPUs: j.CPUs, MaxCPUs: j.MaxCPUs, Agenda: j.hasAgenda(), Remaining: remaining}, &f.policy.Share)
	missing := max(0, floor-o.running[claim])
	return o.Demand(claim, missing, max(0, ceiling-o.running[claim]-missing))
}

// check compares the division with what is, where no change waits to be planned.
func (o *ongoing) check() error {
	for claim, j := range o.jobs {
		primaries, secondaries, _ := j.counts()
		_, later := o.Promised(claim)
		if primaries != o.running[claim] || secondaries != o.Level(claim)-later {
			return fmt.Errorf("job %d runs %d primaries and %d secondaries, the ongoing division counts %d and %d", j.ID,
				primaries, secondaries, o.running[claim], o.Level(claim)-later)
		}
	}
	return nil
}
