package farm

import (
	"maps"
	"slices"
	"strings"

	"qb/supervisor/fit"
	"qb/supervisor/planner"
)

// want is what an instance of a waiting job needs of a host and of the farm, beside what is meant for primaries
// that the plan has settled there. What instances on their way out hold counts as free.
type want struct {
	ad     *admission
	p      *snapshot
	n      int
	meant  []int                  // slots by host
	farm   map[string]int64       // what is left of each licence
	placed []planner.PlannedStart // of others, that take some of the same
}

// lack is what is still missing.
type lack struct {
	slots  int
	memory int64
	names  string // the first resource
}

func (l lack) none() bool { return l.slots <= 0 && l.memory <= 0 && l.names == "" }

func (p *snapshot) wantOf(ad *admission, n int) *want {
	w := &want{ad: ad, p: p, n: n, meant: p.meantBeside(n), farm: map[string]int64{}}
	takes := p.Jobs[n].Takes
	for name := range takes {
		if !strings.HasPrefix(name, "host.") {
			w.farm[name] = ad.comingFree(name, nil)
		}
	}
	for _, s := range p.waiting {
		others := p.Jobs[s.Job].Takes
		if s.Job == n || !fit.Overlap(takes, others) {
			continue
		}
		w.placed = append(w.placed, s)
		for name := range w.farm {
			w.farm[name] -= others[name]
		}
	}
	return w
}

// lack is what is missing on a host once some have gone; with a host below zero, of what the whole farm has.
func (w *want) lack(at int, gone []*yields) (l lack) {
	if at >= 0 {
		l = w.lackOn(at, gone)
	}
	for _, name := range slices.Sorted(maps.Keys(w.farm)) {
		left := w.farm[name]
		for _, y := range gone {
			left += y.Claims()[name]
		}
		if l.names == "" && left < w.p.Jobs[w.n].Takes[name] {
			l.names = name
		}
	}
	return l
}

func (w *want) lackOn(at int, gone []*yields) (l lack) {
	j, h := w.p.jobs[w.n], w.p.hosts[at]
	here := slices.DeleteFunc(slices.Clone(gone), func(y *yields) bool { return y.host != at })
	l.slots = w.p.Jobs[w.n].Slots + w.meant[at] - h.Free() - w.p.Hosts[at].Ending
	for _, y := range here {
		l.slots -= y.Slots
	}
	if h.Limited() {
		l.memory = j.MemoryForPlan() - h.Ledger(nil)
		for _, i := range h.Instances {
			if i.Ending() || slices.ContainsFunc(here, func(y *yields) bool { return y.Instance == i }) {
				l.memory -= i.Takes()
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Needs.Takes)) {
		if !strings.HasPrefix(name, "host.") {
			continue
		}
		left := w.ad.comingFree(name, h)
		for _, s := range w.placed {
			if s.Host == at {
				left -= w.p.jobs[s.Job].Needs.Takes[name]
			}
		}
		for _, y := range here {
			left += y.Attempt.Holds[name]
		}
		if left < j.Needs.Takes[name] {
			l.names = name
			return l
		}
	}
	return l
}

// gives says that an instance holds some of a licence that the job takes.
func (w *want) gives(y *yields) bool {
	return fit.Overlap(w.farm, y.Claims())
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
		if (local || y.Claims()[l.names] > 0) && !slices.Contains(gone, y) {
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
