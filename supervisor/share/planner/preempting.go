package planner

import (
	"cmp"
	"maps"
	"slices"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// PlannedPreemption is an instance that gives way to a waiting primary of a job of better priority.
type PlannedPreemption struct {
	Instance int // index into Running
	For      int // the job
	Drain    bool
}

// wideSought bounds how many wide jobs are looked at in one plan.
const wideSought = 64

// preempt lets waiting primaries of a strictly better priority take the slots of worse ones, under the policy for
// primaries: passive at the end of the item, aggressive at once, disabled never. It acts only for primaries that the
// division found no slot for, and never between equal priorities. With SmartShare's own preemption disabled,
// secondaries of worse jobs yield too. All yield at once to elite jobs, under any policy.
func (p *Plan) preempt(s *Snapshot, r *ledger) {
	unplaced := func(n int) bool { return p.Jobs[n].Unplaced > 0 && s.preempts(n) != "disabled" }
	if !slices.ContainsFunc(p.Order, unplaced) {
		return
	}
	p.Yielded = map[int]int{}
	c := &preempting{p: p, s: s, r: r, yielding: p.yieldingOf(s), turns: NewNextJobs(s, *p)}
	helped, sought := false, 0
	for _, n := range p.Order {
		need := p.Jobs[n].Unplaced * s.Jobs[n].Slots
		for len(c.yielding) > 0 && c.yielding[0].taken {
			c.yielding = c.yielding[1:]
		}
		if len(c.yielding) == 0 {
			return
		}
		switch one := s.Jobs[n].Slots == 1; {
		case need <= 0, !unplaced(n), c.heldUp(n):
			continue
		case !one || c.particular(n):
			if sought++; sought <= wideSought && (!helped || one || s.preempts(n) == "aggressive") {
				yields := c.wide(n)
				helped = helped || yields && !one
			}
			continue
		}
		if c.narrow(n, need) > 0 && c.turns.Waits(n) {
			return
		}
	}
}

// preempting is what the preemption of one plan looks at.
type preempting struct {
	p        *Plan
	s        *Snapshot
	r        *ledger
	yielding []yields
	turns    *NextJobs
}

// preempts is how others yield to a job's primaries.
func (s *Snapshot) preempts(n int) string {
	if s.Jobs[n].Priority == facts.Elite {
		return "aggressive"
	}
	return cmp.Or(s.Policy.PrimaryPreempt, "disabled")
}

// narrow takes instances of worse jobs for one whose instances take a slot each. It returns how many slots are still
// missing.
func (c *preempting) narrow(n, need int) int {
	byOwner := c.s.Policy.ByOwner()
	for at := range c.yielding {
		y := &c.yielding[at]
		displaces := c.s.Displaces(n, y.of)
		if need <= 0 || !displaces && !byOwner {
			break // no other has a worse priority
		}
		if y.taken || !displaces || !c.s.Serves(n, y.host) || !c.turns.Comes(n, y.of, y.host) {
			continue
		}
		need -= c.s.taken(y.instance)
		c.giveWay(y, n)
	}
	return need
}

func (c *preempting) giveWay(y *yields, n int) {
	y.taken = true
	drains := c.s.preempts(n) != "aggressive" || c.s.Running[y.instance].Protected
	c.p.Preempted = append(c.p.Preempted, PlannedPreemption{y.instance, n, drains})
	if !drains {
		c.r.ends(c.s, y.instance)
	}
}

// yields is an instance that may give way.
type yields struct {
	instance int
	of       int // its job
	host     int
	place    int // of its job: the highest yields first
	taken    bool
}

// yieldingOf lists the instances that may give way to jobs of better priority: worst priority first, or last in the
// order where fairshare ranks owners, then, under passive, those nearest their end, under aggressive the ones that lose
// least.
func (p *Plan) yieldingOf(s *Snapshot) []yields {
	stopped := map[int]bool{}
	for n := range p.Stops {
		if p.Stops[n].Drain == Stopped && p.Stops[n].NotBefore == 0 {
			stopped[p.Stops[n].Instance] = true
		}
	}
	promoted := slices.Clone(p.Promoted)
	slices.Sort(promoted)
	demoted := slices.Clone(p.Demoted)
	slices.Sort(demoted)
	kindOf := func(i int) facts.Kind {
		if _, up := slices.BinarySearch(promoted, i); up {
			return facts.Primary
		}
		if _, down := slices.BinarySearch(demoted, i); down {
			return facts.Secondary
		}
		return s.Running[i].Kind
	}
	place := func(j int) int { return s.Jobs[j].Priority }
	if s.Policy.ByOwner() {
		ranks := smartshare.Ranks(p.Order)
		place = func(j int) int { return ranks[j] }
	}
	var found []yields
	for i := range s.Running {
		in := &s.Running[i]
		if stopped[i] || in.Spared || kindOf(i) == facts.Secondary && s.Policy.Preempt != "disabled" {
			continue
		}
		found = append(found, yields{i, in.Job, in.Host, place(in.Job), false})
	}
	slices.SortFunc(found, func(a, b yields) int {
		x, y := &s.Running[a.instance], &s.Running[b.instance]
		age := cmp.Compare(y.ItemStarted, x.ItemStarted) // youngest first: loses least
		if s.Policy.PrimaryPreempt == "passive" {
			age = -age
		}
		return cmp.Or(-cmp.Compare(a.place, b.place), -cmp.Compare(kindOf(a.instance), kindOf(b.instance)), age,
			cmp.Compare(s.Jobs[a.of].Num, s.Jobs[b.of].Num), cmp.Compare(x.Number, y.Number), cmp.Compare(x.ID, y.ID))
	})
	return found
}

// full is the first limit that keeps the job from another instance; "" if none does.
func (r *ledger) full(s *Snapshot, job *SnapJob) string {
	for _, name := range slices.Sorted(maps.Keys(job.Takes)) {
		if _, limit := s.Limits[name]; limit && r.stock[name] <= 0 {
			return name
		}
	}
	return ""
}

// particular says that a slot alone does not let the job in: it needs memory that hosts promise, or other resources.
func (c *preempting) particular(n int) bool {
	job := &c.s.Jobs[n]
	for name := range job.Takes {
		if _, limit := c.s.Limits[name]; !limit {
			return true
		}
	}
	limited := func(h Present) bool { return h.Limited }
	return c.r.full(c.s, job) != "" || !job.Unmeasured && job.Memory > 0 && slices.ContainsFunc(c.r.present, limited)
}

// heldUp says that a limit keeps job n from another instance, and none that may give way to it is under that.
func (c *preempting) heldUp(n int) bool {
	full := c.r.full(c.s, &c.s.Jobs[n])
	return full != "" && !slices.ContainsFunc(c.yielding, func(y yields) bool {
		return !y.taken && c.s.Displaces(n, y.of) && c.s.holds(y.instance)[full] > 0
	})
}
