package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"qb/supervisor/job/fit"
)

// preemption is what would have to go on a host for one instance of a wide job.
type preemption struct {
	host      int
	yields    []*yields
	protected int     // of them: may only end by themselves
	kept      bool    // the host is the job's reservation already
	ends      float64 // when the last has ended
	lost      float64 // seconds of work of all of them
}

// wide lets one host yield to an instance of job n that takes more than a slot, and says whether one does: what goes on
// other hosts would go in vain, except for the ones that hold licences. Of wide jobs the first for whom one does is the
// last under passive: one host is reserved at a time, and elsewhere narrow jobs would take each slot as it comes free.
func (c *preempting) wide(n int) bool {
	byHost, all := map[int][]*yields{}, []*yields{}
	for at := range c.yielding {
		if y := &c.yielding[at]; c.s.Displaces(n, y.of) && !y.taken && c.turns.Comes(n, y.of, y.host) {
			byHost[y.host], all = append(byHost[y.host], y), append(all, y)
		}
	}
	w := c.wantOf(n)
	if w.lack(-1, nil).names != "" {
		all = slices.DeleteFunc(all, func(y *yields) bool { return !w.gives(y) })
	} else {
		all = nil
	}
	var best *preemption
	for at := range c.s.Hosts {
		if len(byHost[at])+len(all) == 0 || !c.s.Hosts[at].Up || !c.s.Serves(n, at) {
			continue
		}
		gone, ok := w.whoGoes(at, byHost[at], all)
		if !ok {
			continue
		}
		l := preemption{host: at, kept: c.s.reservedFor(n, at)}
		for _, y := range gone {
			c.add(&l, y)
		}
		if best == nil || l.cheaper(*best, c.s.preempts(n) == "passive") {
			best = &l
		}
	}
	if best == nil {
		return false
	}
	for _, y := range best.yields {
		c.giveWay(y, n)
	}
	c.p.Yielded[n] = best.host
	c.turns.Claim(best.host)
	return true
}

// reservedFor says whether the last plan keeps the host for job n.
func (s *Snapshot) reservedFor(n, host int) bool {
	return s.Reserved != nil && s.Reserved.Host == host && s.Reserved.Job == n
}

func (c *preempting) add(l *preemption, y *yields) {
	in := &c.s.Running[y.instance]
	l.yields = append(l.yields, y)
	l.lost += c.s.Now - in.ItemStarted
	l.ends = max(l.ends, c.s.Now, in.ItemStarted+c.s.Jobs[y.of].ItemSeconds+in.Stood)
	if in.Protected {
		l.protected++
	}
}

// cheaper says where to begin: if items end by themselves where they end first, and once begun there; else where
// the fewest are stopped, with the least work lost.
func (l preemption) cheaper(m preemption, passive bool) bool {
	if passive {
		if l.kept != m.kept {
			return l.kept
		}
		return cmp.Or(cmp.Compare(l.ends, m.ends), cmp.Compare(len(l.yields), len(m.yields))) < 0
	}
	return cmp.Or(cmp.Compare(l.protected, m.protected), cmp.Compare(len(l.yields), len(m.yields)),
		cmp.Compare(l.lost, m.lost)) < 0
}

// want is what an instance of a waiting job needs of a host and of the farm, beside what is meant for primaries
// that the plan has settled there. What instances on their way out hold counts as free.
type want struct {
	c      *preempting
	n      int
	meant  []int            // slots by host
	farm   map[string]int64 // what is left of each licence
	placed []PlannedStart   // of others, that take some of the same
}

// lack is what is still missing.
type lack struct {
	slots  int
	memory int64
	names  string // the first resource
}

func (l lack) none() bool { return l.slots <= 0 && l.memory <= 0 && l.names == "" }

func (c *preempting) wantOf(n int) *want {
	w := &want{c: c, n: n, meant: c.p.MeantBeside(c.s, n), farm: map[string]int64{}}
	takes := c.s.Jobs[n].Takes
	for name := range takes {
		if !strings.HasPrefix(name, "host.") {
			w.farm[name] = c.r.stock[name] + c.r.coming[name]
		}
	}
	for _, start := range c.p.Starts {
		others := c.s.Jobs[start.Job].Takes
		if start.Job == n || !start.waits() || !fit.Overlap(takes, others) {
			continue
		}
		w.placed = append(w.placed, start)
		for name := range w.farm {
			w.farm[name] -= others[name]
		}
	}
	return w
}

// MeantBeside is by host the slots that the plan has settled for waiting primaries of other jobs than n.
func (p *Plan) MeantBeside(s *Snapshot, n int) []int {
	meant := make([]int, len(s.Hosts))
	for _, start := range p.Starts {
		if start.Job != n && start.waits() {
			meant[start.Host] += s.Jobs[start.Job].Slots
		}
	}
	return meant
}

// lack is what is missing on a host once some have gone; with a host below zero, of what the whole farm has.
func (w *want) lack(at int, gone []*yields) (l lack) {
	if at >= 0 {
		l = w.lackOn(at, gone)
	}
	for _, name := range slices.Sorted(maps.Keys(w.farm)) {
		left := w.farm[name]
		for _, y := range gone {
			left += w.c.s.holds(y.instance)[name]
		}
		if l.names == "" && left < w.c.s.Jobs[w.n].Takes[name] {
			l.names = name
		}
	}
	return l
}

func (w *want) lackOn(at int, gone []*yields) (l lack) {
	s, job, h := w.c.s, &w.c.s.Jobs[w.n], &w.c.r.present[at]
	here := slices.DeleteFunc(slices.Clone(gone), func(y *yields) bool { return y.host != at })
	l.slots = job.Slots + w.meant[at] - h.Free - s.Hosts[at].Ending
	if h.Limited {
		l.memory = job.Memory - h.Promisable() - h.EndingMemory
	}
	for _, y := range here {
		l.slots -= s.taken(y.instance)
		if h.Limited {
			l.memory -= s.bytes(y.instance)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(job.Takes)) {
		if !strings.HasPrefix(name, "host.") {
			continue
		}
		left := h.Left[name] + h.Coming[name]
		for _, start := range w.placed {
			if start.Host == at {
				left -= s.Jobs[start.Job].Takes[name]
			}
		}
		for _, y := range here {
			left += s.holds(y.instance)[name]
		}
		if left < job.Takes[name] {
			l.names = name
			return l
		}
	}
	return l
}

// gives says that an instance holds some of a licence that the job takes.
func (w *want) gives(y *yields) bool {
	return fit.Overlap(w.farm, w.c.s.holds(y.instance))
}

// whoGoes picks, of the instances on a host and of those anywhere that hold licences, in their order, who has to go
// for one of the job's to start there, and none that need not; false if it could not start though all went.
func (w *want) whoGoes(at int, here, anywhere []*yields) (gone []*yields, ok bool) {
	for _, y := range slices.Concat(here, anywhere) {
		l := w.lack(at, gone)
		if l.none() {
			break
		}
		local := y.host == at && (l.slots > 0 || l.memory > 0)
		if (local || w.c.s.holds(y.instance)[l.names] > 0) && !slices.Contains(gone, y) {
			gone = append(gone, y)
		}
	}
	if !w.lack(at, gone).none() {
		return nil, false
	}
	for k := len(gone) - 2; k >= 0; k-- {
		if without := slices.Delete(slices.Clone(gone), k, k+1); w.lack(at, without).none() {
			gone = without
		}
	}
	return gone, true
}
