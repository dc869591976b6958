package farm

import (
	"cmp"
	"slices"
	"time"

	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// wideSought bounds how many wide jobs are looked at in one plan.
const wideSought = 64

// preemption is what would have to go on a host for one instance of a wide job.
type preemption struct {
	host      int // of the plan
	yields    []*yields
	protected int           // of them: may only end by themselves
	kept      bool          // the host is the job's reservation already
	ends      time.Duration // from now until the last has ended
	lost      time.Duration // work of all of them
}

// particular says that a slot alone does not let the job in: it needs memory that hosts promise, or other resources.
func (p *snapshot) particular(n int) bool {
	return len(p.jobs[n].Needs.Takes) > 0 || p.jobs[n].Full(nil) != nil || (p.jobs[n].MemoryNeed > 0 && slices.ContainsFunc(p.hosts, (*model.Host).Limited))
}

// heldUp says that a limit keeps job n from another instance, and none that may give way to it is under that.
func (p *snapshot) heldUp(n int, yielding []yields) bool {
	full := p.jobs[n].Full(nil)
	return full != nil && !slices.ContainsFunc(yielding, func(y yields) bool {
		return !y.taken && p.Displaces(n, y.of) && y.Claims()[full.Name] > 0
	})
}

// preemptWide lets one host yield to an instance of job n that takes more than a slot, and says whether one does: what
// goes on other hosts would go in vain, but for those that hold licences. Of wide jobs the first for whom one does is
// the last under passive: one host is reserved at a time, and elsewhere narrow jobs would take each slot as it comes
// free.
func (f *Farm) preemptWide(now time.Time, p *snapshot, n int, yielding []yields, turns *planner.Turns) bool {
	byHost, all := map[int][]*yields{}, []*yields{}
	for at := range yielding {
		if y := &yielding[at]; p.Displaces(n, y.of) && !y.taken && turns.Comes(n, y.of, y.host) {
			byHost[y.host], all = append(byHost[y.host], y), append(all, y)
		}
	}
	w := p.wantOf(&f.admission, n)
	if w.lack(-1, nil).names != "" {
		all = slices.DeleteFunc(all, func(y *yields) bool { return !w.gives(y) })
	} else {
		all = nil
	}
	var best *preemption
	for at, h := range p.hosts {
		if len(byHost[at])+len(all) == 0 || !p.Hosts[at].Up || !p.Serves(n, at) {
			continue
		}
		gone, ok := w.whoGoes(at, byHost[at], all)
		if !ok {
			continue
		}
		l := preemption{host: at, kept: f.admission.keeps(h, p.jobs[n])}
		for _, y := range gone {
			l.add(now, y)
		}
		if best == nil || l.cheaper(*best, f.preemptPolicy(p.jobs[n]) == "passive") {
			best = &l
		}
	}
	if best == nil {
		return false
	}
	for _, y := range best.yields {
		f.giveWay(now, y, p.jobs[n])
	}
	p.yielded[n] = best.host
	turns.Claim(best.host)
	return true
}

func (l *preemption) add(now time.Time, y *yields) {
	l.yields = append(l.yields, y)
	l.lost += now.Sub(y.Attempt.StartedAt)
	l.ends = max(l.ends, y.ExpectedEnd(now).Sub(now))
	if y.Protected() {
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
	return cmp.Or(cmp.Compare(l.protected, m.protected), cmp.Compare(len(l.yields), len(m.yields)), cmp.Compare(l.lost, m.lost)) < 0
}
