package planner

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// One property for each invariant of the sharing model that speaks of a balance, named by its number.

var (
	onePool  = style{preempt: anyPreempt}
	unitFarm = style{hosts: true, preempt: anyPreempt, extras: true}
	wideFarm = style{hosts: true, wide: true, preempt: anyPreempt, extras: true}
	bigFarm  = style{hosts: true, wide: true, big: true, preempt: anyPreempt, extras: true}
	bigUnits = style{hosts: true, big: true, preempt: anyPreempt, extras: true, weights: true}
	ranked   = style{hosts: true, ranked: true, preempt: anyPreempt, extras: true}
	bigRanks = style{hosts: true, ranked: true, wide: true, big: true, preempt: anyPreempt}
	ownUnits = style{hosts: true, preempt: anyPreempt, extras: true, weights: true, owned: true}
	ownWide  = style{hosts: true, wide: true, preempt: anyPreempt, extras: true, owned: true}
	ownBig   = style{hosts: true, big: true, ranked: true, preempt: anyPreempt, extras: true, owned: true}
	takers   = style{hosts: true, takes: true, preempt: anyPreempt, extras: true}
	bigTakes = style{hosts: true, takes: true, wide: true, big: true, ranked: true, preempt: anyPreempt, extras: true, owned: true}
	promised = style{hosts: true, preempt: anyPreempt, extras: true, memory: true, promised: true}
	bigProms = style{hosts: true, wide: true, big: true, preempt: anyPreempt, extras: true, promised: true}
	limited  = style{hosts: true, limited: true, preempt: anyPreempt, extras: true}
	ownLimit = style{hosts: true, limited: true, preempt: anyPreempt, extras: true, owned: true}
	bigLimit = style{hosts: true, limited: true, wide: true, big: true, ranked: true, takes: true, preempt: anyPreempt, extras: true}
	styles   = []style{limited, ownLimit, bigLimit, onePool, unitFarm, wideFarm, bigFarm, bigUnits, ranked, bigRanks, ownUnits, ownWide, ownBig, takers, bigTakes, promised, bigProms}
)

// inEachStyle checks a property on all kinds of farms.
func inEachStyle(t *testing.T, check func(f *checked)) {
	for n, st := range styles {
		names := []string{"limited", "limited-users", "limited-big", "pool", "units", "wide", "big", "big-units", "ranked", "big-ranked", "users", "users-wide", "users-big", "takers", "takers-big", "promised", "promised-big"}
		t.Run(names[n], func(t *testing.T) {
			t.Parallel()
			eachFarm(t, st, check)
		})
	}
}

// held are the instances of a job after relabelling, without the ones that leave.
func (f *checked) held(job int, kind facts.Kind) (list []int) {
	after := relabelled(f.s, f.p)
	for i, r := range after.Running {
		if r.Job == job && r.Kind == kind && !slices.Contains(f.p.Leaving, i) {
			list = append(list, i)
		}
	}
	return list
}

// pinned says that a secondary is a held floor.
func (f *checked) pinned(i int) bool {
	return f.s.Policy.Preempt == "disabled" || f.s.Running[i].Protected
}

func (f *checked) pinnedOf(job int) (n int) {
	for _, i := range f.held(job, facts.Secondary) {
		if f.pinned(i) {
			n++
		}
	}
	return n
}

// room is what is left on each host after the plan.
func (f *checked) room() (slots []int, memory []int64) {
	for _, h := range f.s.Hosts {
		slots = append(slots, h.Slots)
		memory = append(memory, h.Memory)
		if h.Memory < 0 {
			memory[len(memory)-1] = math.MaxInt64 / 2
		}
	}
	for _, r := range applied(f.s, f.p).Running {
		slots[r.Host] -= f.s.Jobs[r.Job].Slots
		memory[r.Host] -= f.promised(r)
	}
	return slots, memory
}

// promised is what goes free with an instance.
func (f *checked) promised(r SnapInstance) int64 {
	if r.Memory > 0 {
		return r.Memory
	}
	return f.s.Jobs[r.Job].Memory
}

func (f *checked) mayStart(job, host int) bool {
	list := f.s.Jobs[job].Eligible
	return f.s.Hosts[host].Up && (list == nil || slices.Contains(list, host))
}

func TestInvariant1And2HostsHoldWhatTheyHave(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		slots, memory := f.room()
		for h := range slots {
			if slots[h] < 0 || memory[h] < 0 {
				f.fail("host %d has %d slots and %d bytes left", h, slots[h], memory[h])
			}
		}
		left := f.left()
		for h := range append(left.hosts, left.farm) {
			for name, n := range append(left.hosts, left.farm)[h] {
				if n < 0 {
					f.fail("%d of %s are left on host %d (or on the farm)", n, name, h)
				}
			}
		}
		for _, start := range f.p.Starts {
			if !f.mayStart(start.Job, start.Host) {
				f.fail("job %d starts on host %d", start.Job, start.Host)
			}
		}
	})
}

// TestPlanAddsUp checks that the counts of a plan and its lists say the same.
func TestPlanAddsUp(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		after := applied(f.s, f.p)
		counts := make([]JobCounts, len(f.s.Jobs))
		for _, r := range after.Running {
			if r.Kind == facts.Primary {
				counts[r.Job].Primary++
			} else {
				counts[r.Job].Secondary++
			}
		}
		free := 0
		slots, _ := f.room()
		for h := range slots {
			if f.s.Hosts[h].Up {
				free += slots[h]
			}
		}
		if free != f.p.Free {
			f.fail("%d slots are free, the plan says %d", free, f.p.Free)
		}
		for j, jp := range f.p.Jobs {
			primaries, secondaries := len(f.held(j, facts.Primary)), len(f.held(j, facts.Secondary))
			switch {
			case counts[j] != jp.JobCounts:
				f.fail("job %d: lists lead to %v, counts are %v", j, counts[j], jp.JobCounts)
			case primaries+jp.StartPrimary != jp.Primary:
				f.fail("job %d: %d primaries and %d starts make %d", j, primaries, jp.StartPrimary, jp.Primary)
			case secondaries+jp.StartSecondary-jp.Stop != jp.Secondary:
				f.fail("job %d: %d secondaries do not become %d", j, secondaries, jp.Secondary)
			case f.s.Policy.Promote && jp.Unplaced != max(0, jp.Floor-jp.Primary):
				f.fail("job %d: unplaced %d", j, jp.Unplaced)
			}
		}
	})
}

func TestInvariant3TotalUnderCeiling(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			if most := max(jp.Ceiling, jp.Primary+f.pinnedOf(j)); jp.Primary+jp.Secondary > most {
				f.fail("job %d has %v of %d", j, jp.JobCounts, most)
			}
		}
	})
}

func TestInvariant4TotalUnderItems(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			if r := f.s.Jobs[j].Remaining; r >= 0 && jp.Primary+jp.Secondary > r {
				f.fail("job %d has %v for %d items", j, jp.JobCounts, r)
			}
		}
	})
}

func TestInvariant5PrimariesUnderCPUs(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			if jp.Primary > f.s.Jobs[j].CPUs {
				f.fail("job %d has %d primaries", j, jp.Primary)
			}
		}
	})
}

func TestInvariant6And7NoSecondariesWithoutLeave(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			width := f.s.Policy.DefaultMaxCPUs
			if f.s.Jobs[j].MaxCPUs != nil {
				width = *f.s.Jobs[j].MaxCPUs
			}
			none := !f.s.Jobs[j].Agenda || width == 0 || f.s.Policy.Mode == "none"
			if none && jp.Secondary > f.pinnedOf(j) {
				f.fail("job %d has %d secondaries", j, jp.Secondary)
			}
		}
	})
}

func TestInvariant8PrimariesAreNotStopped(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		after := relabelled(f.s, f.p)
		for _, i := range f.p.Stop {
			if after.Running[i].Kind == facts.Primary || f.pinned(i) {
				f.fail("instance %d is stopped", i)
			}
		}
	})
}

func TestInvariant9FloorsAreKept(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			held := len(f.held(j, facts.Primary)) + len(f.held(j, facts.Secondary))
			if f.s.Policy.Promote && jp.Primary+jp.Secondary < min(jp.Floor, held) {
				f.fail("job %d falls from %d to %v, its floor is %d", j, held, jp.JobCounts, jp.Floor)
			}
		}
	})
}

func TestInvariant10FloorsBeforeSurplus(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		slots, memory := f.room()
		left, after := f.left(), applied(f.s, f.p)
		for _, r := range after.Running {
			if r.Kind == facts.Secondary && !r.Protected && f.s.Policy.Preempt != "disabled" {
				slots[r.Host] += f.s.Jobs[r.Job].Slots
				memory[r.Host] += f.promised(r)
				left.give(&f.s.Jobs[r.Job], r.Host)
			}
		}
		for j, jp := range f.p.Jobs {
			for h := range slots {
				if jp.Unplaced > 0 && f.mayStart(j, h) && slots[h] >= f.s.Jobs[j].Slots && memory[h] >= f.s.Jobs[j].Memory && left.suffices(&f.s.Jobs[j], h) {
					f.fail("job %d lacks %d primaries, host %d has room but for secondaries", j, jp.Unplaced, h)
				}
			}
		}
	})
}

func TestInvariant11WorkConserving(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		slots, memory := f.room()
		left := f.left()
		for j, jp := range f.p.Jobs {
			if jp.Primary+jp.Secondary >= jp.Ceiling {
				continue
			}
			for h := range slots {
				if f.mayStart(j, h) && slots[h] >= f.s.Jobs[j].Slots && memory[h] >= f.s.Jobs[j].Memory && left.suffices(&f.s.Jobs[j], h) {
					f.fail("job %d has %v of %d, host %d has room", j, jp.JobCounts, jp.Ceiling, h)
				}
			}
		}
	})
}

func TestInvariant12NoImprovingTransfer(t *testing.T) {
	for _, st := range []style{onePool, unitFarm} {
		eachFarm(t, st, func(f *checked) {
			for _, r := range applied(f.s, f.p).Running {
				if r.Kind == facts.Primary || r.Protected || f.s.Policy.Preempt == "disabled" {
					continue
				}
				for b, jp := range f.p.Jobs {
					a := f.p.Jobs[r.Job]
					if jp.Unplaced == 0 && jp.Primary+jp.Secondary < jp.Ceiling && f.mayStart(b, r.Host) && a.Secondary > jp.Secondary+1 {
						f.fail("job %d has %d secondaries, job %d has %d and could use host %d", r.Job, a.Secondary, b, jp.Secondary, r.Host)
					}
				}
			}
		})
	}
}

// filled is one pool divided by hand: how many secondaries each job holds, may have at most and keeps in any case, the
// highest level that all can have together, and how many slots are left then.
type filled struct {
	held, most, least []int
	level, odd        int
}

func (f *checked) filled() (w filled) {
	total, n := 0, len(f.p.Jobs)
	w.held, w.most, w.least = make([]int, n), make([]int, n), make([]int, n)
	for j, jp := range f.p.Jobs {
		total += jp.Secondary
		w.held[j], w.least[j] = len(f.held(j, facts.Secondary)), f.pinnedOf(j)
		if w.most[j] = w.least[j]; jp.Unplaced == 0 {
			w.most[j] = max(w.least[j], jp.Ceiling-jp.Primary)
		}
	}
	for l := range total + 1 {
		left := total
		for j := range w.held {
			left -= w.at(j, l)
		}
		if left >= 0 {
			w.level, w.odd = l, left
		}
	}
	return w
}

// at is what a job has at a level.
func (w *filled) at(j, level int) int { return min(w.most[j], max(w.least[j], level)) }

// TestInvariant14FewestStopsInOnePool: of all divisions with these levels none needs fewer stops, so the jobs that hold
// more than the common level get the odd slots.
func TestInvariant14FewestStopsInOnePool(t *testing.T) {
	eachFarm(t, onePool, func(f *checked) {
		w, want, savers := f.filled(), 0, 0
		for j := range w.held {
			want += max(0, w.held[j]-w.at(j, w.level))
			if w.held[j] > w.level && w.at(j, w.level+1) > w.at(j, w.level) {
				savers++
			}
		}
		if want -= min(w.odd, savers); len(f.p.Stop) != want {
			f.fail("%d stops, want %d", len(f.p.Stop), want)
		}
	})
}

// TestInvariant23OddSlotsHaveOneOwner: to whom the odd slots of one pool go is fixed, so that none goes back and forth
// between two who could both have it: first to jobs that hold more than the level, then in dispatch order.
func TestInvariant23OddSlotsHaveOneOwner(t *testing.T) {
	eachFarm(t, onePool, func(f *checked) {
		w := f.filled()
		want, odd := make([]int, len(w.held)), w.odd
		for _, holds := range []bool{true, false} {
			for _, j := range f.p.Order {
				if (w.held[j] > w.level) != holds {
					continue
				}
				want[j] = w.at(j, w.level)
				if more := w.at(j, w.level+1); more > want[j] && odd > 0 {
					want[j] = more
					odd--
				}
			}
		}
		for j, jp := range f.p.Jobs {
			if jp.Secondary != want[j] {
				f.fail("job %d has %d secondaries, want %d of %v: level %d, %d odd slots", j, jp.Secondary, want[j], want, w.level, w.odd)
			}
		}
	})
}

func TestInvariant15LeastWorkIsLost(t *testing.T) {
	eachFarm(t, style{preempt: []string{"aggressive"}}, func(f *checked) {
		for _, i := range f.p.Stop {
			for _, k := range f.held(f.s.Running[i].Job, facts.Secondary) {
				if !slices.Contains(f.p.Stop, k) && f.s.Running[k].LostWork < f.s.Running[i].LostWork {
					f.fail("instance %d goes with %v s, %d stays with less", i, f.s.Running[i].LostWork, k)
				}
			}
		}
	})
}

func TestInvariant16Idempotence(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		again := Balance(applied(f.s, f.p))
		if len(again.Stop)+len(again.Starts)+len(again.Promoted)+len(again.Demoted)+len(again.Leaving) > 0 {
			f.fail("a second balance does %+v", again)
		}
	})
}

func TestInvariant17OrderOfRowsIsIrrelevant(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		shuffled := shuffle(f.d, f.s)
		if a, b := planText(f.s, f.p), planText(shuffled, Balance(shuffled)); a != b {
			f.fail("rows in another order give\n%s\nnot\n%s", b, a)
		}
	})
}

// shuffle puts jobs, hosts and instances in another order.
func shuffle(d *dice, s Snapshot) Snapshot {
	permute := func(n int) (to []int) {
		for i := range n {
			to = slices.Insert(to, d.roll(0, i), i)
		}
		return to
	}
	jobs, hosts, running := permute(len(s.Jobs)), permute(len(s.Hosts)), permute(len(s.Running))
	out := s
	out.Jobs, out.Hosts, out.Running = make([]SnapJob, len(jobs)), make([]SnapHost, len(hosts)), make([]SnapInstance, len(running))
	for from, to := range hosts {
		out.Hosts[to] = s.Hosts[from]
	}
	for from, to := range jobs {
		j := s.Jobs[from]
		if j.Eligible != nil {
			j.Eligible = []int{}
			for _, h := range s.Jobs[from].Eligible {
				j.Eligible = append(j.Eligible, hosts[h])
			}
		}
		out.Jobs[to] = j
	}
	for from, to := range running {
		r := s.Running[from]
		r.Job, r.Host = jobs[r.Job], hosts[r.Host]
		out.Running[to] = r
	}
	return out
}

// planText is a plan by ids.
func planText(s Snapshot, p Plan) string {
	ids := func(list []int) (names []string) {
		for _, i := range list {
			names = append(names, s.Running[i].ID)
		}
		return names
	}
	text := fmt.Sprintln("stop", ids(p.Stop), "promoted", ids(p.Promoted), "demoted", ids(p.Demoted), "leaving", ids(p.Leaving),
		"free", p.Free, "lost", p.LostWork)
	for _, j := range p.Order {
		text += fmt.Sprintln(s.Jobs[j].ID, p.Jobs[j])
	}
	for _, start := range p.Starts {
		text += fmt.Sprintln(s.Jobs[start.Job].ID, start.Kind, s.Hosts[start.Host].Name)
	}
	return text
}

// fresh are farms on which nothing runs, so that holders do not blur what more room or fewer jobs do.
func (f *checked) fresh() (Snapshot, Plan) {
	s := f.s
	s.Running = nil
	return s, Balance(s)
}

func levels(p Plan) (list []int, sum int) {
	for _, jp := range p.Jobs {
		list = append(list, jp.Secondary)
		sum += jp.Secondary
	}
	slices.Sort(list)
	return list, sum
}

func TestInvariant18MoreRoomIsNoLoss(t *testing.T) {
	for n, st := range []style{onePool, unitFarm} {
		eachFarm(t, st, func(f *checked) {
			s, p := f.fresh()
			s.Hosts = slices.Clone(s.Hosts)
			s.Hosts[f.d.roll(0, len(s.Hosts)-1)].Slots++
			more := Balance(s)
			total := func(p Plan) (sum int) {
				for _, jp := range p.Jobs {
					sum += jp.Primary + jp.Secondary
				}
				return sum
			}
			if grown := total(more) - total(p); grown < 0 || grown > 1 {
				f.fail("one more slot changes the sum by %d", grown)
			}
			for j := range p.Jobs {
				if n == 0 && more.Jobs[j].Primary+more.Jobs[j].Secondary < p.Jobs[j].Primary+p.Jobs[j].Secondary {
					f.fail("one more slot takes from job %d", j)
				}
			}
		})
	}
}

func TestInvariant19FewerJobsAreNoLoss(t *testing.T) {
	for n, st := range []style{onePool, unitFarm} {
		eachFarm(t, st, func(f *checked) {
			s, p := f.fresh()
			gone := f.d.roll(0, len(s.Jobs)-1)
			s.Jobs = slices.Clone(s.Jobs)
			s.Jobs[gone].Remaining = 0
			less := Balance(s)
			was, is := p, less
			was.Jobs, is.Jobs = slices.Delete(slices.Clone(p.Jobs), gone, gone+1), slices.Delete(slices.Clone(less.Jobs), gone, gone+1)
			full := true
			for j := range is.Jobs {
				full = full && is.Jobs[j].Primary == was.Jobs[j].Primary
				if n == 0 && is.Jobs[j].Primary+is.Jobs[j].Secondary < was.Jobs[j].Primary+was.Jobs[j].Secondary {
					f.fail("without job %d another has less", gone)
				}
			}
			// Primaries that found room at last may take it from the surplus.
			a, _ := levels(was)
			b, _ := levels(is)
			if full && slices.Compare(b, a) < 0 {
				f.fail("without job %d the levels are %v, not %v", gone, b, a)
			}
		})
	}
}

func TestInvariant20DisabledNeverStops(t *testing.T) {
	for _, st := range styles {
		st.preempt = []string{"disabled"}
		eachFarm(t, st, func(f *checked) {
			if len(f.p.Stop) > 0 {
				f.fail("stops %v", f.p.Stop)
			}
		})
	}
}

// TestNoneStopsThatHasRoom: a secondary is not stopped if there is room for it where it is and another one of its job
// starts instead, or its job may have more.
func TestNoneStopsThatHasRoom(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		after := relabelled(f.s, f.p)
		for _, i := range f.p.Stop {
			r := after.Running[i]
			if r.Kind == facts.Primary {
				continue
			}
			if jp := f.p.Jobs[r.Job]; jp.Unplaced == 0 && jp.Primary+jp.Secondary < jp.Ceiling && f.mayStart(r.Job, r.Host) && f.hasRoom(r, nil) {
				f.fail("instance %d of job %d is stopped, has room, and its job may have %d", i, r.Job, jp.Ceiling)
			}
			for _, start := range f.p.Starts {
				if start.Kind == facts.Secondary && start.Job == r.Job && f.hasRoom(r, &start) {
					f.fail("instance %d of job %d is stopped, has room, and another one starts on host %d", i, r.Job, start.Host)
				}
			}
		}
	})
}

// hasRoom says whether there is room for a stopped instance where it is, if a start of its job is left out.
func (f *checked) hasRoom(r SnapInstance, start *PlannedStart) bool {
	job, left := &f.s.Jobs[r.Job], f.left()
	slots, memory := f.room()
	if start != nil {
		slots[start.Host] += job.Slots
		memory[start.Host] += job.Memory
		left.give(job, start.Host)
	}
	return slots[r.Host] >= job.Slots && memory[r.Host] >= f.promised(r) && left.suffices(job, r.Host)
}

func TestInvariant24PromotionComesFirst(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		for j, jp := range f.p.Jobs {
			if f.s.Policy.Promote && jp.StartPrimary > 0 && len(f.held(j, facts.Secondary)) > 0 {
				f.fail("job %d starts %d primaries, and holds secondaries", j, jp.StartPrimary)
			}
		}
		for _, i := range f.p.Promoted {
			if slices.Contains(f.p.Stop, i) || slices.Contains(f.p.Leaving, i) || slices.Contains(f.p.Demoted, i) {
				f.fail("instance %d is promoted and goes", i)
			}
		}
	})
}

func TestInvariant25OrderIsTotal(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		seen := make([]bool, len(f.s.Jobs))
		for _, j := range f.p.Order {
			if seen[j] {
				f.fail("job %d is there twice", j)
			}
			seen[j] = true
		}
		if len(f.p.Order) != len(f.s.Jobs) {
			f.fail("order %v", f.p.Order)
		}
	})
}

func TestInvariant26BetterOrderIsServedFirst(t *testing.T) {
	for _, st := range []style{onePool, unitFarm} {
		eachFarm(t, st, func(f *checked) {
			rank := make([]int, len(f.s.Jobs))
			for place, j := range f.p.Order {
				rank[j] = place
			}
			for _, start := range f.p.Starts {
				for j, jp := range f.p.Jobs {
					if jp.Unplaced > 0 && f.mayStart(j, start.Host) && (start.Kind == facts.Secondary || rank[j] < rank[start.Job]) {
						f.fail("job %d starts on host %d, job %d before it could", start.Job, start.Host, j)
					}
				}
			}
		})
	}
}

// TestInvariant26BetterRankIsServedFirst: where hosts rank jobs, no host gives a primary to a job while one
// of better rank there lacks primaries.
func TestInvariant26BetterRankIsServedFirst(t *testing.T) {
	eachFarm(t, ranked, func(f *checked) {
		clusters := make(map[string]bool)
		for _, h := range f.s.Hosts {
			clusters[h.Cluster] = true
		}
		rank := func(job, host int) int {
			return f.s.rankIn(job, f.s.Hosts[host].Cluster)
		}
		for _, start := range f.p.Starts {
			for j, jp := range f.p.Jobs {
				if len(clusters) > 1 && jp.Unplaced > 0 && f.mayStart(j, start.Host) && rank(j, start.Host) < rank(start.Job, start.Host) {
					f.fail("job %d starts on host %d, job %d of better rank waits", start.Job, start.Host, j)
				}
			}
		}
	})
}

// TestNobodyPassesABetterRank: where one job could leave a host for another host, its slot is for the job that ranks
// best there, not for a job that comes first elsewhere or would only move there.
func TestNobodyPassesABetterRank(t *testing.T) {
	zero := 0
	host := func(cluster string, slots int) SnapHost {
		return SnapHost{Slots: slots, Memory: -1, Cluster: cluster, Up: true}
	}
	job := func(cluster string, priority, cpus int, hosts ...int) SnapJob {
		return SnapJob{Priority: priority, Cluster: cluster, CPUs: cpus, MaxCPUs: &zero, Remaining: 9, Agenda: true, Slots: 1, Eligible: hosts}
	}
	for name, s := range map[string]Snapshot{
		"the second may leave host 1": {Hosts: []SnapHost{host("/a/b", 2), host("/a", 2)},
			Jobs: []SnapJob{job("/", 1, 1, 1), job("/a", 3, 1, 0, 1), job("/a", 3, 3, 1), job("/", 1, 3, 1)}},
		"the fourth may leave host 2": {Hosts: []SnapHost{host("/", 4), host("/", 2), host("/a", 2)},
			Jobs: []SnapJob{job("/a/b", 1, 3, 1, 2), job("/", 2, 2, 2), job("/", 2, 3, 1, 2), job("/a", 1, 1, 0, 1, 2)}},
	} {
		s.Cluster, s.Policy = "/", SharePolicy{Mode: "jobs", Preempt: "passive", MaxCPUsLimit: 10, Order: []string{"cluster", "priority"}}
		for i := range s.Hosts {
			s.Hosts[i].Name = string(rune('a' + i))
		}
		for i := range s.Jobs {
			s.Jobs[i].ID = string(rune('A' + i))
		}
		p := Balance(s)
		rank := func(job, host int) int { return smartshare.ClusterRank(s.Jobs[job].Cluster, s.Hosts[host].Cluster) }
		for _, start := range p.Starts {
			for j := range s.Jobs {
				if p.Jobs[j].Unplaced > 0 && slices.Contains(s.Jobs[j].Eligible, start.Host) && rank(j, start.Host) < rank(start.Job, start.Host) {
					t.Errorf("%s: job %s starts on host %d, where %s ranks better and waits", name, s.Jobs[start.Job].ID, start.Host, s.Jobs[j].ID)
				}
			}
		}
	}
}

// TestRanksDecideHostByHost: each host serves the job of its own cluster first, whatever the priorities.
func TestRanksDecideHostByHost(t *testing.T) {
	zero := 0
	s := Snapshot{Cluster: "/", Policy: SharePolicy{Mode: "jobs", Preempt: "aggressive", MaxCPUsLimit: 10, Promote: true, Order: []string{"cluster", "priority"}},
		Hosts: []SnapHost{{Name: "h1", Slots: 2, Memory: -1, Cluster: "/a", Up: true}, {Name: "h2", Slots: 2, Memory: -1, Cluster: "/b", Up: true}},
		Jobs: []SnapJob{{ID: "1", Priority: 1, Cluster: "/a", CPUs: 3, MaxCPUs: &zero, Remaining: 9, Agenda: true, Slots: 1},
			{ID: "2", Priority: 9, Cluster: "/b", CPUs: 3, MaxCPUs: &zero, Remaining: 9, Agenda: true, Slots: 1}}}
	check := func(want ...PlannedStart) {
		t.Helper()
		if p := Balance(s); !slices.Equal(p.Starts, want) {
			t.Errorf("got %v, want %v", p.Starts, want)
		}
	}
	one, two := PlannedStart{Job: 0, Host: 0}, PlannedStart{Job: 1, Host: 1}
	check(one, one, two, two)
	s.Jobs[1].Memory, s.Jobs[0].Slots = 1, 2 // shapes that differ are packed
	check(one, two, two)
	s.Jobs[0].Slots = 1
	s.Policy.Order = []string{"priority", "cluster"}
	check(one, one, PlannedStart{Job: 0, Host: 1}, two)
}

func TestInvariant40EqualWeightsChangeNothing(t *testing.T) {
	inEachStyle(t, func(f *checked) {
		ones, threes := f.s, f.s
		ones.Jobs, threes.Jobs = slices.Clone(f.s.Jobs), slices.Clone(f.s.Jobs)
		for j := range f.s.Jobs {
			ones.Jobs[j].Weight, threes.Jobs[j].Weight = 1, 3
		}
		if a, b := planText(ones, Balance(ones)), planText(threes, Balance(threes)); a != b {
			f.fail("weights of 3 give\n%s\nof 1\n%s", b, a)
		}
	})
}
