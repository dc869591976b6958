package planner

import (
	"math"
	"strings"

	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// PlannedStop is one instance that gives its room back.
type PlannedStop struct {
	Instance int // index into Running
	Why      StopWhy
	For      int // the job whose primary waits for the room, or that shares the surplus; -1: none
	Drain    DrainWhy
	// ForGood is set where the start in its place needs the item of this instance, or has no budget: it ends even if the
	// next plan has room for it.
	ForGood   bool
	NotBefore float64 // it is stopped then; 0: at once
}

// StopWhy is the rule that takes the room.
type StopWhy int

// Each names what an instance gives way to.
const (
	WidthLowered  StopWhy = iota // its job may not be as wide as it is
	LimitExceeded                // a limit of its job's instances was lowered
	PrimaryWaits                 // a primary of the job For
	SurplusShared                // the secondaries of others
)

// DrainWhy says why an instance ends after its item; Stopped: it does not.
type DrainWhy int

// An instance that drains keeps its room until its item has ended.
const (
	Stopped       DrainWhy = iota
	Passively              // by the policy
	ItemProtected          // its item was preempted too often
	LosesTooMuch           // it has run for longer than max_lost
)

func (w StopWhy) String() string { return [...]string{"width", "limit", "primary", "surplus"}[w] }

// String is "" for Stopped.
func (w DrainWhy) String() string { return [...]string{"", "policy", "item", "lost"}[w] }

// stops says of each stop of the division why it is made, how and when. A stop that only levels secondaries waits until
// the instance has run for min_run and its job was not asked within settle; what a waiting primary needs, a lowered
// limit and a person's change never wait.
func (p *Plan) stops(s *Snapshot, r *ledger) {
	if len(p.Stop) == 0 {
		return
	}
	held, vain := smartshare.Lend[int](r.scratch, len(s.Jobs)), smartshare.Lend[int](r.scratch, len(s.Jobs))
	for i := range s.Running {
		held[s.Running[i].Job]++
	}
	for _, i := range p.Leaving {
		held[s.Running[i].Job]--
	}
	for _, start := range p.Starts {
		switch start.When {
		case Now:
			held[start.Job]++
		case AfterItems:
			vain[start.Job]++
		}
	}
	needed := p.neededStops(s, r)
	p.Stops = make([]PlannedStop, 0, len(p.Stop))
	for _, i := range p.Stop {
		j := s.Running[i].Job
		stop := PlannedStop{Instance: i, For: -1}
		if to, needs := needed[i]; needs {
			stop.For = to
		}
		wide, over := held[j] > p.Jobs[j].Ceiling, r.exceeded(s, &s.Jobs[j])
		switch {
		case wide:
			stop.Why = WidthLowered
		case over:
			stop.Why = LimitExceeded
		case stop.For >= 0:
			stop.Why = PrimaryWaits
		default:
			stop.Why, stop.For = SurplusShared, p.sharer(j)
		}
		_, primary := needed[i]
		stop.Drain = s.drains(i, needed)
		switch {
		case stop.Drain != Stopped:
			if vain[j] > 0 {
				vain[j]--
				stop.ForGood = true
			}
		case !primary && !wide && !over && !s.Urgent:
			if due := s.stopDue(i); s.Now < due {
				stop.NotBefore = due
			}
		}
		p.Stops = append(p.Stops, stop)
		if stop.NotBefore > 0 {
			continue
		}
		held[j]--
		if stop.Drain == Stopped || stop.ForGood {
			r.ends(s, i)
		}
	}
}

// sharer is the first job that gets a secondary, and is not j; -1: none does.
func (p *Plan) sharer(j int) int {
	for n := range p.Jobs {
		if p.Jobs[n].StartSecondary > 0 && n != j {
			return n
		}
	}
	return -1
}

func (s *Snapshot) drains(i int, needed map[int]int) DrainWhy {
	preempt, most := s.Policy.Preempt, s.Policy.MaxLost
	if to, needs := needed[i]; needs && s.Jobs[to].Priority == facts.Elite {
		preempt, most = "aggressive", 0
	}
	r := &s.Running[i]
	switch {
	case preempt == "passive":
		return Passively
	case r.Protected:
		return ItemProtected
	case most > 0 && s.Now-r.ItemStarted-r.Stood > most:
		return LosesTooMuch
	}
	return Stopped
}

// stopDue is when an instance may be stopped to level the surplus.
func (s *Snapshot) stopDue(i int) float64 {
	due := s.Running[i].Started + s.Policy.MinRun
	if shrunk := s.Jobs[s.Running[i].Job].Shrunk; shrunk > 0 {
		due = max(due, shrunk+s.Policy.Settle)
	}
	return due
}

// queued are the primaries that wait for ends, in the order of the plan: on one host, or all of them for what the
// farm as a whole has of licences; and what is free there once those on their way out have gone.
type queued struct {
	jobs   []int
	slots  int
	memory int64
	stock  map[string]int64 // of what the waiting jobs take of the host, or of the farm
}

// neededStops says of each stop of the plan that a waiting primary needs, which job's that is. On a host as many
// are needed, the cheapest first, as give what its waiting primaries lack; the others only level the surplus.
func (p *Plan) neededStops(s *Snapshot, r *ledger) map[int]int {
	hosts, whole := map[int]*queued{}, &queued{slots: math.MaxInt, memory: math.MaxInt64, stock: map[string]int64{}}
	for _, start := range p.Starts {
		if !start.waits() {
			continue
		}
		q := hosts[start.Host]
		if q == nil {
			q = r.queuedOn(start.Host)
			hosts[start.Host] = q
		}
		q.jobs, whole.jobs = append(q.jobs, start.Job), append(whole.jobs, start.Job)
		for name := range s.Jobs[start.Job].Takes {
			if strings.HasPrefix(name, "host.") {
				q.stock[name] = r.present[start.Host].Left[name] + r.present[start.Host].Coming[name]
			} else {
				whole.stock[name] = r.stock[name] + r.coming[name]
			}
		}
	}
	if len(whole.jobs) == 0 {
		return nil
	}
	needed := map[int]int{}
	for _, i := range p.Stop {
		at := s.Running[i].Host
		to := -1
		if q := hosts[at]; q != nil {
			to = q.give(s, i)
		}
		if j := whole.give(s, i); to < 0 {
			to = j
		}
		if to >= 0 {
			needed[i] = to
		}
	}
	return needed
}

// waits says that the start is a primary's, which is not kept waiting by any delay of stops.
func (s *PlannedStart) waits() bool {
	return s.Kind == facts.Primary && s.awaits()
}

func (r *ledger) queuedOn(h int) *queued {
	host := &r.present[h]
	q := &queued{slots: host.Free + host.EndingSlots, memory: host.Promisable(), stock: map[string]int64{}}
	if host.Limited {
		q.memory += host.EndingMemory
	}
	return q
}

// give lets the first primary in the queue that still lacks something have what goes free with the instance: its
// job; -1 if none lacks any of that.
func (q *queued) give(s *Snapshot, i int) int {
	for len(q.jobs) > 0 {
		j := q.jobs[0]
		job := &s.Jobs[j]
		slots, memory := job.Slots-q.slots, job.Memory-q.memory
		holds := s.holds(i)
		lacks, helps := slots > 0 || memory > 0, slots > 0 || memory > 0 && s.bytes(i) > 1
		for name, stock := range q.stock {
			if job.Takes[name] > stock {
				lacks, helps = true, helps || holds[name] > 0
			}
		}
		if lacks {
			if helps {
				q.add(s.taken(i), s.bytes(i), holds, 1)
				return j
			}
			return -1
		}
		q.add(job.Slots, job.Memory, job.Takes, -1)
		q.jobs = q.jobs[1:]
	}
	return -1
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
