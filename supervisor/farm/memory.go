package farm

import (
	"maps"
	"math"
	"slices"
	"time"

	"qb/agenda"
	"qb/smartshare"
	"qb/supervisor/facts"
)

// MemoryPolicy says how needs are estimated and hosts are chosen by memory.
type MemoryPolicy struct {
	Default   int64   // bytes, of an instance of which nothing is known; 0: such a one is promised nothing
	Placement string  // best_fit, spread, pack
	Quantile  float64 // of the peaks returned; 1: the largest
	Margin    float64 // times the quantile, where that is below 1
	Trim      bool    // what was seen may lower a user's host.memory, by a third at most
}

// quantileFrom is how many peaks it takes before a quantile is more than a guess.
const quantileFrom = 20

func (p MemoryPolicy) rule() smartshare.MemoryRule {
	return smartshare.MemoryRule{Quantile: p.Quantile, Margin: p.Margin, Enough: quantileFrom}
}

// memoryBook is what a job's ended attempts tell about its memory. All of it follows from the rows.
type memoryBook struct {
	peaks   smartshare.Returned    // of complete items
	largest int64                  // peak of any ended attempt
	raised  map[facts.ItemNo]int64 // needs of items that ran out of memory and are not complete
	need    int64                  // of the next instance, bytes; 0: nothing is known
}

// empty says that the book tells nothing.
func (b *memoryBook) empty() bool {
	return b.largest == 0 && len(b.raised) == 0 && b.peaks.Count() == 0
}

// Past is the memory of a job that the farm no longer holds, as it would be if another of its items were to run.
// largest is the largest host known, 0: none.
func (p MemoryPolicy) Past(reservations string, m facts.PastMemory, largest int64) facts.JobMemory {
	v := facts.JobMemory{LargestPeak: m.Largest, Returned: m.Returned, RanOut: m.RanOut}
	if list, err := agenda.ParseReservations(reservations); err == nil {
		v.Requested = list.Memory()
	}
	var peaks smartshare.Returned
	peaks.Add(float64(m.Peak))
	rule := p.rule()
	if rule.Quantile < 1 && m.Returned >= rule.Enough {
		rule.Enough = 1
	}
	if m.Returned > 0 || v.Requested > 0 {
		v.Need = peaks.Memory(v.Requested, p.Trim, rule)
	}
	if m.Returned == 0 || p.Quantile >= 1 {
		v.Need = max(v.Need, m.Largest)
	}
	if 20*m.RanOut >= m.RanOut+m.Returned {
		v.Need = max(v.Need, 2*m.Out)
	}
	if largest > 0 {
		v.Need = max(v.Requested, min(v.Need, largest))
	}
	return v
}

// learn takes an ended attempt into the book. held is what it was promised.
func (b *memoryBook) learn(item facts.ItemNo, state facts.AttemptState, why facts.Reason, held, peak int64) {
	b.largest = max(b.largest, peak)
	switch {
	case state == facts.Done || state == facts.Superseded:
		b.peaks.Add(float64(peak))
		delete(b.raised, item)
	case state == facts.Failed && why.OutOfMemory():
		if b.raised == nil {
			b.raised = map[facts.ItemNo]int64{}
		}
		b.raised[item] = max(b.raised[item], afterOut(held, peak, why))
	}
}

// outAt is the memory at which an attempt ran out: its limit if that was it, else all it got.
func outAt(held, peak int64, why facts.Reason) int64 {
	if why == facts.ReasonMemoryLimit && held > 0 {
		return held
	}
	return max(held, peak)
}

// afterOut is the need of an item after it ran out of memory: twice as much. What hosts have caps it later.
func afterOut(held, peak int64, why facts.Reason) int64 {
	raised, _ := smartshare.AfterOutOfMemory(0, outAt(held, peak, why), math.MaxInt64/2)
	return raised
}

// learned is the need that what ended calls for, 0 if it tells nothing, and the least that makes sense: what
// was asked for or seen, and more than what was not enough for this item. A need that one item has met is that of all
// once two of them, or one in twenty, ran out of memory.
func (b *memoryBook) learned(p MemoryPolicy, given int64, next facts.ItemNo) (need, least int64) {
	if b.peaks.Count() > 0 || given > 0 {
		need = b.peaks.Memory(given, p.Trim, p.rule())
	}
	least = min(need, max(given, b.largest))
	if b.peaks.Count() == 0 || p.Quantile >= 1 {
		need, least = max(need, b.largest), max(least, b.largest)
	}
	raised := b.raised[next]
	if n := len(b.raised); n > 0 {
		out := slices.Sorted(maps.Values(b.raised))
		switch {
		case 20*n >= n+b.peaks.Count():
			raised = max(raised, out[n-1])
		case n > 1:
			raised = max(raised, out[n-2])
		}
	}
	if own := b.raised[next]; own > 0 {
		least = max(least, notably(own/2))
	}
	return max(need, raised), least
}

// refreshNeed works out what the job's next instance needs. What was learned is capped at what the largest
// host that serves the job can offer, unless that would be less than was seen: such a job waits for memory,
// as one does that asks for too much.
func (f *Farm) refreshNeed(now time.Time, j *job) {
	if j.needs.Memory == 0 && j.book.empty() {
		j.book.need = 0
		return
	}
	next, _ := j.tally.NextPending()
	policy := f.policy.Memory
	policy.Trim = policy.Trim && !j.hardLimit() // the limit would come down with the need
	need, least := j.book.learned(policy, j.needs.Memory, facts.ItemNo(next))
	if need > j.needs.Memory && need > f.leastMemory/2 {
		whole, offer := f.largestHost(now, j)
		if need > offer && offer >= least {
			need = offer
		}
		need = max(j.needs.Memory, min(need, whole))
	}
	j.book.need = need
}

// largestHost is the memory of the largest host that serves the job but for its memory, and the most that
// one of them can offer now besides what others than the farm use of it; both without limit where a host
// did not say, or while none is known.
func (f *Farm) largestHost(now time.Time, j *job) (whole, offer int64) {
	modest := *j
	modest.needs.Memory, modest.book.need = 0, 0
	for _, h := range f.hosts {
		if h.state(now, f.policy) == "lost" || !h.serves(now, &modest) {
			continue
		}
		if !h.limited() {
			return math.MaxInt64, math.MaxInt64
		}
		whole, offer = max(whole, h.Memory), max(offer, h.offer())
	}
	if whole == 0 {
		return math.MaxInt64, math.MaxInt64
	}
	return whole, offer
}

// offer is what the host could promise if nothing of the farm ran there.
func (h *host) offer() int64 { return min(h.machine.total-h.machine.foreign-h.reserve, h.Memory) }

// outOfMemory says what becomes of an item that was killed for memory: it is tried again with twice as
// much, unless it had all that the largest host has.
func (f *Farm) outOfMemory(now time.Time, i *instance, r ReportedEnd) facts.EndAttempt {
	end := facts.EndAttempt{ExitCode: r.ExitCode, Signal: r.Signal, Wall: r.Wall, CPU: r.CPU, Peak: r.Peak, State: facts.Failed, Again: facts.ByItself}
	reason, params := facts.ReasonOutOfMemory, facts.Params{}
	if i.job.hardLimit() && i.attempt.Memory > 0 && r.Limit {
		reason, params.Limit = facts.ReasonMemoryLimit, i.attempt.Memory
	}
	out := outAt(i.attempt.Memory, r.Peak, reason)
	whole, offer := f.largestHost(now, i.job)
	// Where others than the farm have more than half of the largest host it may yet get more.
	if more := notably(out); more > whole || (more > offer && out >= whole/2) || i.attempt.Number >= maxAttempts {
		end.Again, params.Largest, params.Offer = facts.Never, whole, offer
	}
	end.Why = facts.Because(reason, params, r.Reason)
	return end
}

// notably is what is enough more than a memory that was too little to be worth a try.
func notably(bytes int64) int64 { return bytes/10*11 + 1 }

// learnMemory takes in how an attempt ended, and what that means for the instances to come.
func (f *Farm) learnMemory(now time.Time, i *instance, end facts.EndAttempt) {
	j := i.job
	j.book.learn(i.attempt.Item, end.State, end.Reason, i.attempt.Memory, end.Peak)
	before := j.book.need
	f.refreshNeed(now, j)
	if j.book.need < before && len(f.hungry) > 0 {
		f.dirty = true
	}
	if end.State == facts.Failed && end.Reason.OutOfMemory() {
		f.counts.OutOfMemory++
		f.out.Record(now, facts.EventFacts{Type: "out-of-memory", Job: j.ID, Item: i.attempt.Item, Instance: i.number, Host: i.host.ID, Why: end.Why})
	}
}
