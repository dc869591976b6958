package planner

import (
	"fmt"
	"slices"
	"testing"

	"qb/supervisor/job/facts"
)

// settling is a farm on which nothing happens but what its own plans ask for, one end at a time.
type settling struct {
	*checked
	s     Snapshot
	ended []int       // by job: secondaries that were ordered to go and went
	ends  int         // in all
	given map[int]int // by job: secondaries started after one of it had gone
	count int
}

// settle carries plans out until one asks for nothing. Starts are made as soon as they fit; of those reported
// to go, a random one goes.
func (f *checked) settle() *settling {
	w := &settling{checked: f, s: f.s, ended: make([]int, len(f.s.Jobs)), given: map[int]int{}}
	for round := 0; ; round++ {
		if round > 200 {
			f.fail("does not settle; after 200 rounds it is %+v", w.s.Running)
		}
		p := Balance(w.s)
		w.relabelAndLeave(p)
		starts := w.startWhatFits(p)
		if starts+len(p.Promoted)+len(p.Demoted)+len(p.Leaving) > 0 {
			continue
		}
		if len(p.Stop) == 0 {
			if len(p.Starts) > 0 {
				f.fail("settled with starts left: %+v", p)
			}
			return w
		}
		i := p.Stop[f.d.roll(0, len(p.Stop)-1)]
		w.ended[w.s.Running[i].Job]++
		w.ends++
		w.s.Running = slices.Delete(slices.Clone(w.s.Running), i, i+1)
	}
}

func (w *settling) relabelAndLeave(p Plan) {
	s := relabelled(w.s, p)
	w.s.Running = nil
	for i, r := range s.Running {
		r.Draining = slices.Contains(p.Stop, i)
		if !slices.Contains(p.Leaving, i) {
			w.s.Running = append(w.s.Running, r)
		}
	}
}

func (w *settling) startWhatFits(p Plan) (made int) {
	slots := make([]int, len(w.s.Hosts))
	for h := range slots {
		slots[h] = w.s.Hosts[h].Slots
	}
	for _, r := range w.s.Running {
		slots[r.Host] -= w.s.Jobs[r.Job].Slots
	}
	for _, start := range p.Starts {
		if slots[start.Host] < w.s.Jobs[start.Job].Slots {
			continue
		}
		slots[start.Host] -= w.s.Jobs[start.Job].Slots
		if start.Kind == facts.Secondary && w.ended[start.Job] > 0 {
			w.given[start.Job]++
		}
		w.count++
		w.s.Running = append(w.s.Running, startedOf(w.s, start, fmt.Sprintf("n%03d", w.count), w.count))
		made++
	}
	return made
}

// TestInvariant21And22StaticFarmSettles: with every policy a farm left alone comes to rest, in as many
// ends as the first plan reported, and where that plan said.
func TestInvariant21And22StaticFarmSettles(t *testing.T) {
	for n, st := range []style{onePool, {hosts: true, preempt: anyPreempt}} {
		t.Run([]string{"pool", "units"}[n], func(t *testing.T) {
			eachFarm(t, st, func(f *checked) {
				w := f.settle()
				got, _ := levels(Balance(w.s))
				want, _ := levels(f.p)
				if !slices.Equal(got, want) {
					f.fail("settles at %v, not at %v", got, want)
				}
				if w.ends > len(f.p.Stop) {
					f.fail("%d went, the first plan told %d", w.ends, len(f.p.Stop))
				}
			})
		})
	}
}

// TestInvariant23NoPingPong: in one pool no job gets back a slot it gave.
func TestInvariant23NoPingPong(t *testing.T) {
	eachFarm(t, onePool, func(f *checked) {
		if w := f.settle(); len(w.given) > 0 {
			f.fail("jobs get back what they gave: %v", w.given)
		}
	})
}

// TestInvariant22EachTransferLevels: where jobs only exchange surplus, the sum of squares falls by two or
// more with each stop.
func TestInvariant22EachTransferLevels(t *testing.T) {
	eachFarm(t, onePool, func(f *checked) {
		before, after, held, target := 0, 0, 0, 0
		for j, jp := range f.p.Jobs {
			h := len(f.held(j, facts.Secondary))
			if jp.StartPrimary > 0 || h > max(0, jp.Ceiling-jp.Primary) {
				return
			}
			before, after = before+h*h, after+jp.Secondary*jp.Secondary
			held, target = held+h, target+jp.Secondary
		}
		if held == target && before-after < 2*len(f.p.Stop) {
			f.fail("%d stops level from %d to %d", len(f.p.Stop), before, after)
		}
	})
}

// TestInvariant21ImmediateIsWhatFitsNow: under passive preemption nothing that runs is counted out before
// it has ended, and what starts at once has room.
func TestInvariant21ImmediateIsWhatFitsNow(t *testing.T) {
	for _, st := range styles {
		st.preempt = []string{"passive"}
		eachFarm(t, st, func(f *checked) {
			used, slots := 0, 0
			for j, c := range f.p.Immediate {
				p, s := len(f.held(j, facts.Primary)), len(f.held(j, facts.Secondary))
				if c.Primary < p || c.Secondary < s || c.Primary > f.p.Jobs[j].Primary {
					f.fail("job %d: %v at once, with %d and %d running", j, c, p, s)
				}
				used += (c.Primary + c.Secondary) * f.s.Jobs[j].Slots
			}
			for _, h := range f.s.Hosts {
				slots += h.Slots
			}
			if used > slots {
				f.fail("%d slots in use at once, there are %d", used, slots)
			}
			if f.p.LostWork != 0 {
				f.fail("passive preemption loses %v s", f.p.LostWork)
			}
		})
	}
}

// TestFarmsThatHoldTooMuch: hosts may have shrunk and jobs grown since their instances began. Nothing
// starts where there is no room, secondaries leave hosts that lack slots, and it comes to rest soon.
func TestFarmsThatHoldTooMuch(t *testing.T) {
	for _, st := range styles {
		eachFarm(t, st, func(f *checked) {
			s := f.s
			s.Hosts, s.Jobs = slices.Clone(s.Hosts), slices.Clone(s.Jobs)
			for h := range s.Hosts {
				s.Hosts[h].Slots = max(0, s.Hosts[h].Slots-f.d.roll(0, 3))
				s.Hosts[h].Ending = f.d.roll(0, 2)
			}
			for j := range s.Jobs {
				s.Jobs[j].Memory += int64(f.d.roll(0, 3))
				s.Jobs[j].Weight = float64(f.d.roll(0, 2))
			}
			g := checked{T: f.T, s: s, p: Balance(s), d: f.d}
			slots, _ := g.room()
			for _, start := range g.p.Starts {
				if slots[start.Host] < 0 || !g.mayStart(start.Job, start.Host) {
					g.fail("job %d starts on host %d, which is full", start.Job, start.Host)
				}
			}
			for i, r := range relabelled(s, g.p).Running {
				left := slices.Contains(g.p.Stop, i) || slices.Contains(g.p.Leaving, i)
				if slots[r.Host] < 0 && s.Hosts[r.Host].Up && r.Kind == facts.Secondary && !g.pinned(i) && !left {
					g.fail("instance %d stays on host %d, which holds too much", i, r.Host)
				}
			}
			for round, plan := 0, g.p; len(plan.Stop)+len(plan.Starts)+len(plan.Leaving) > 0; round++ {
				if round == 4 {
					g.fail("a fifth balance still does %+v", plan)
				}
				s = applied(s, plan)
				plan = Balance(s)
			}
		})
	}
}
