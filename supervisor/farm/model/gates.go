package model

import (
	"fmt"
	"slices"

	"qb/agenda"
	"qb/supervisor/farm/items"
	"qb/supervisor/job/facts"
)

// Gate is a condition of an unfinished job on items of another, followed as those change. It has no row: it is counted
// again from the states of the items. The parent stays in memory as long as it is watched.
type Gate struct {
	facts.Link
	parent, child *Job

	same  bool       // both jobs have the same items
	only  *items.Set // of the parent; nil: each item of the child waits for the ones that share entries with it
	unmet int        // what is still waited for: entries, or items of only
}

// moved is what gates have opened since the farm looked.
type moved struct {
	ready   []*Job // have items that may run
	through []*Job // have had an item end that whole jobs wait for
}

// TakeMoved is that, once.
func (js *Jobs) TakeMoved() (ready, through []*Job) {
	ready, through = js.moved.ready, js.moved.through
	js.moved = moved{}
	return ready, through
}

// Watched says whether unfinished jobs wait for items of this one.
func (j *Job) Watched() bool { return len(j.watchers) > 0 }

func (j *Job) gate(l facts.Link) *Gate {
	for _, g := range j.Gates {
		if g.Link == l {
			return g
		}
	}
	return nil
}

func (g *Gate) cost() int { return max(g.parent.Entries.Entries(), g.child.Entries.Entries()) }

// TooMuch says why these conditions on items are more than can be followed, "" if they are not.
func (js *Jobs) TooMuch(j *Job, links []facts.Link) string {
	sum := 0
	for _, l := range links {
		parent := js.ByID[l.Job]
		if l.Of != facts.OfItems || parent == nil {
			continue
		}
		cost := max(parent.Entries.Entries(), j.Entries.Entries())
		sum += cost
		watched := cost
		for _, g := range parent.watchers {
			watched += g.cost()
		}
		if sum > items.MaxGated || watched > items.MaxGated {
			return fmt.Sprintf("conditions on items of jobs this large are more than can be followed (%d numbers in all); wait for whole jobs, or for fewer", items.MaxGated)
		}
	}
	return ""
}

// Watch follows those conditions of an unfinished job on items of others that are not followed yet.
func (js *Jobs) Watch(j *Job) {
	for _, l := range j.WaitFor {
		parent := js.ByID[l.Job]
		if l.Of != facts.OfItems || parent == nil || j.gate(l) != nil {
			continue
		}
		g := &Gate{Link: l, parent: parent, child: j}
		if l.Items != "" {
			g.only = &items.Set{}
			picked, err := parent.Entries.Select(l.Items)
			if err != nil { // a label turned out to be a job without these items
				g.unmet++
			}
			for _, n := range picked {
				g.only.Add(n, parent.Entries.Len())
			}
		} else {
			g.same = parent.Entries.Same(j.Entries)
		}
		for n := range parent.Entries.Len() {
			if !l.MetBy(parent.Tally.State(n)) {
				g.shift(n, 1)
			}
		}
		j.Gates, parent.watchers = append(j.Gates, g), append(parent.watchers, g)
		parent.Items.Watch = &watcher{js, parent}
		js.Count(parent)
	}
}

// watcher hears of every change of the parent's items.
type watcher struct {
	jobs   *Jobs
	parent *Job
}

// Changed counts an item for the jobs that wait for it.
func (w *watcher) Changed(item int, was, is agenda.State) {
	for _, g := range w.parent.watchers {
		before, after := g.MetBy(was), g.MetBy(is)
		switch {
		case before == after:
		case before:
			g.shift(item, 1)
		case g.shift(item, -1):
			w.jobs.moved.note(g)
		}
	}
}

func (m *moved) note(g *Gate) {
	list, j := &m.ready, g.child
	if g.only != nil {
		list, j = &m.through, g.parent
	}
	if !slices.Contains(*list, j) {
		*list = append(*list, j)
	}
}

// shift counts an item of the parent that is waited for, or is no longer, and says whether that lets something run.
func (g *Gate) shift(item, by int) (opens bool) {
	switch {
	case g.only != nil:
		if g.only.Has(item) {
			g.unmet += by
			return g.unmet == 0
		}
	case g.same:
		g.unmet += by
		return g.child.Wait(item, by)
	default:
		g.parent.Entries.Shared(item, g.child.Entries, func(n int) {
			g.unmet += by
			opens = g.child.Wait(n, by) || opens
		})
	}
	return opens
}

// Unwatch follows no condition of the job any more but the ones that it still has. What its items wait for through one
// that has not come true they wait for no longer only with all of them.
func (js *Jobs) Unwatch(j *Job) {
	kept := make([]*Gate, 0, len(j.Gates))
	for _, g := range j.Gates {
		if !j.State.Final() && slices.Contains(j.WaitFor, g.Link) {
			kept = append(kept, g)
			continue
		}
		js.unpin(g)
	}
	if j.Gates = kept; len(kept) == 0 {
		j.Gates = nil
		j.WaitNoMore()
	}
}

// unpin lets the parent go from memory if no other job watches it.
func (js *Jobs) unpin(g *Gate) {
	p := g.parent
	p.watchers = slices.DeleteFunc(p.watchers, func(o *Gate) bool { return o == g })
	if p.Watched() {
		return
	}
	p.watchers, p.Items.Watch = nil, nil
	js.Count(p)
	if p.State.Final() && js.ByID[p.ID] == p && !slices.Contains(js.Final, p.ID) {
		js.Final = append(js.Final, p.ID)
	}
}

// CheckGates recounts what items wait for.
func (js *Jobs) CheckGates() error {
	for _, j := range js.Sorted() {
		waits := make([]uint32, j.Entries.Len())
		for _, g := range j.Gates {
			unmet := 0
			for n := range g.parent.Entries.Len() {
				switch {
				case g.MetBy(g.parent.Tally.State(n)):
				case g.only != nil:
					if g.only.Has(n) {
						unmet++
					}
				case g.same:
					unmet++
					waits[n]++
				default:
					g.parent.Entries.Shared(n, j.Entries, func(m int) {
						unmet++
						waits[m]++
					})
				}
			}
			if unmet != g.unmet && g.Items == "" || j.State.Final() || js.ByID[g.parent.ID] != g.parent ||
				!slices.Contains(g.parent.watchers, g) {
				return fmt.Errorf("job %d (%s) waits for %d more of job %d, counted are %d", j.ID, j.State, unmet, g.Job, g.unmet)
			}
		}
		for n, waits := range waits {
			counted := uint32(0)
			if j.Waits != nil {
				counted = j.Waits[n]
			}
			state := j.Tally.State(n)
			if counted != waits || state == agenda.Pending && waits > 0 || state == agenda.Waiting && waits == 0 {
				return fmt.Errorf("job %d: item %d is %v and waits for %d things, counted are %d", j.ID, n, state, waits, counted)
			}
		}
	}
	return nil
}
