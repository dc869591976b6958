package farm

import (
	"math"
	"strings"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/model"
	"qb/supervisor/planner"
)

// applyStops takes secondaries back under the policy. A stop that only levels secondaries waits until the
// instance has run for min_run and its job was not asked within settle; what a waiting primary needs, a lowered
// limit and a person's order never wait.
func (f *Farm) applyStops(now time.Time, a *rollout) bool {
	p, b, dirty := a.p, a.b, f.planStale
	if !a.started {
		a.started = true
		f.replanAt = time.Time{}
		a.takeBackDrains()
		for _, n := range b.Leaving {
			f.drain(now, p.instances[n], facts.Because(facts.ReasonNoItemsLeft, facts.Params{}, ""))
		}
		a.shrinks, a.needed = map[*model.Job]bool{}, p.neededStops(&f.admission, b)
	}
	for ; a.next < len(b.Stop); a.next++ {
		if f.out.Spent() {
			f.planStale = dirty
			return false
		}
		n := b.Stop[a.next]
		i := p.instances[n]
		f.doing.job = i.Job.ID
		jp := b.Jobs[p.Running[n].Job]
		why := f.planning.stopReason(i, jp, p, b, a.needed[n])
		preempt, most := p.Policy.Preempt, f.policy.MaxLost
		if to := a.needed[n]; to != nil && to.Elite() {
			preempt, most = "aggressive", 0
		}
		if i.Drains(now, preempt, most, &why) {
			f.drain(now, i, why)
			f.drainForGood(a, i)
			continue
		}
		if due := f.planning.stopDue(i, jp); a.needed[n] == nil && now.Before(due) {
			f.replanSoon(due)
			continue
		}
		a.shrinks[i.Job] = true
		f.stop(now, i, why)
	}
	for j := range a.shrinks {
		j.LastShrink = now
	}
	f.planStale, p.stopped = dirty, len(a.shrinks) > 0
	return true
}

// takeBackDrains lets all instances stay that drain; the plan says anew which do.
func (a *rollout) takeBackDrains() {
	for n, j := range a.p.jobs {
		if j.Parts[model.PartDraining] == 0 {
			continue
		}
		for _, i := range a.p.instances[a.p.rows[n].first:a.p.rows[n].after] {
			if i.Draining {
				a.drained = append(a.drained, i)
				i.Draining = false
				i.Recount()
			}
		}
	}
}

func (pl *planning) stopDue(i *model.Instance, jp planner.JobPlan) time.Time {
	primary, secondary, _ := i.Job.Counts()
	if pl.planNow || primary+secondary > jp.Ceiling || i.Job.Exceeded() != nil {
		return time.Time{}
	}
	due := i.Began.Add(pl.policy.MinRun)
	if settled := i.Job.LastShrink.Add(pl.policy.Settle); !i.Job.LastShrink.IsZero() && settled.After(due) {
		due = settled
	}
	return due
}

// stopReason is why an instance gives way: to a primary of the job that needs its room, or if that is nil to level the
// surplus.
func (pl *planning) stopReason(i *model.Instance, jp planner.JobPlan, p *snapshot, b planner.Plan, needs *model.Job) facts.Why {
	primary, secondary, _ := i.Job.Counts()
	if primary+secondary > jp.Ceiling {
		return facts.Because(facts.ReasonWidthLowered, facts.Params{Job: i.Job.ID, Limit: int64(jp.Ceiling)}, "")
	}
	if over := i.Job.Exceeded(); over != nil {
		return over.Why()
	}
	if needs != nil {
		return facts.Because(facts.ReasonPrimaryWaits, facts.Params{Job: needs.ID}, "")
	}
	shared := facts.Params{Share: p.Policy.SharedBy(pl.policy.Fairshare.Weights)}
	for n, other := range b.Jobs {
		if other.StartSecondary > 0 && p.jobs[n] != i.Job {
			shared.Job, shared.User = p.jobs[n].ID, p.jobs[n].User
			break
		}
	}
	return facts.Because(facts.ReasonSurplusShared, shared, "")
}

// queued are the primaries that wait for ends, in the order of the plan: on one host, or all of them for what the
// farm as a whole has of licences; and what is free there once those on their way out have gone.
type queued struct {
	starts []planner.PlannedStart
	slots  int
	memory int64
	stock  map[string]int64 // of what the waiting jobs take of the host, or of the farm
}

// neededStops says of each stop of the plan that a waiting primary needs, which job's that is. On a host as many
// are needed, the cheapest first, as give what its waiting primaries lack; the others only level the surplus.
func (p *snapshot) neededStops(ad *admission, b planner.Plan) map[int]*model.Job {
	if len(p.waiting) == 0 || len(b.Stop) == 0 {
		return nil
	}
	hosts, whole := map[int]*queued{}, &queued{starts: p.waiting, slots: math.MaxInt, memory: math.MaxInt64, stock: map[string]int64{}}
	for _, s := range p.waiting {
		q := hosts[s.Host]
		if q == nil {
			q = queuedOn(p.hosts[s.Host])
			hosts[s.Host] = q
		}
		q.starts = append(q.starts, s)
		for name := range p.jobs[s.Job].Claims() {
			if strings.HasPrefix(name, "host.") {
				q.stock[name] = ad.comingFree(name, p.hosts[s.Host])
			} else {
				whole.stock[name] = ad.comingFree(name, nil)
			}
		}
	}
	needed := map[int]*model.Job{}
	for _, n := range b.Stop {
		i := p.instances[n]
		if q := hosts[p.Running[n].Host]; q != nil {
			needed[n] = q.give(p, i)
		}
		if j := whole.give(p, i); needed[n] == nil {
			needed[n] = j
		}
	}
	return needed
}

func queuedOn(h *model.Host) *queued {
	q := &queued{slots: h.Free(), memory: h.Ledger(nil), stock: map[string]int64{}}
	for _, i := range h.Instances {
		if i.Ending() {
			q.slots += i.Taken()
			if h.Limited() {
				q.memory += i.Takes()
			}
		}
	}
	return q
}

// give lets the first primary in the queue that still lacks something have what goes free with the instance: its
// job; nil if none lacks any of that.
func (q *queued) give(p *snapshot, i *model.Instance) *model.Job {
	for len(q.starts) > 0 {
		s := q.starts[0]
		slots, memory, takes := p.Jobs[s.Job].Slots-q.slots, p.Jobs[s.Job].Memory-q.memory, p.Jobs[s.Job].Takes
		holds := i.Claims()
		lacks, helps := slots > 0 || memory > 0, slots > 0 || memory > 0 && i.Attempt.Memory > 0
		for name, stock := range q.stock {
			if takes[name] > stock {
				lacks, helps = true, helps || holds[name] > 0
			}
		}
		if lacks {
			if helps {
				q.add(i.Slots, i.Takes(), holds, 1)
				return p.jobs[s.Job]
			}
			return nil
		}
		q.add(p.Jobs[s.Job].Slots, p.Jobs[s.Job].Memory, takes, -1)
		q.starts = q.starts[1:]
	}
	return nil
}

// add puts in, or with sign -1 takes out, what an instance has; what is without limit stays so.
func (q *queued) add(slots int, memory int64, takes map[string]int64, sign int) {
	if q.slots < math.MaxInt {
		q.slots += sign * slots
	}
	if q.memory < math.MaxInt64 {
		q.memory += int64(sign) * memory
	}
	for name := range q.stock {
		q.stock[name] += int64(sign) * takes[name]
	}
}
