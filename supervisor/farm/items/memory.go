package items

import (
	"maps"
	"math"
	"slices"

	"qb/agenda"
	"qb/smartshare"
	"qb/supervisor/job/facts"
)

// MemoryPolicy says how needs are estimated and hosts are chosen by memory.
type MemoryPolicy struct {
	Default   int64   // bytes, of an instance of which nothing is known; 0: such a one is promised nothing
	Placement string  // best_fit, spread, pack
	Quantile  float64 // of the peaks returned; 1: the largest
	Margin    float64 // times the quantile, where that is below 1
	Trim      bool    // what was seen may lower a user's host.memory, by a third at most
}

// Enough is how many peaks it takes before a quantile, or a job's own items alone, are more than a guess.
const Enough = 20

func (p MemoryPolicy) rule() smartshare.MemoryRule {
	return smartshare.MemoryRule{Quantile: p.Quantile, Margin: p.Margin, Enough: Enough}
}

// Memory is what ended attempts tell about the memory that items need.
type Memory struct {
	Peaks   smartshare.Samples     // of complete items
	Largest int64                  // peak of any ended attempt
	Raised  map[facts.ItemNo]int64 // needs of items that ran out of memory and are not complete
}

// Empty says that it tells nothing.
func (m *Memory) Empty() bool {
	return m.Largest == 0 && len(m.Raised) == 0 && m.Peaks.Count() == 0
}

// Past is the memory of a job that the farm no longer holds, as it would be if another of its items were to run.
// largest is the largest host known, 0: none.
func (p MemoryPolicy) Past(reservations string, m facts.PastMemory, largest int64) facts.JobMemory {
	v := facts.JobMemory{LargestPeak: m.Largest, Returned: m.Returned, RanOut: m.RanOut}
	if list, err := agenda.ParseReservations(reservations); err == nil {
		v.Requested = list.Memory()
	}
	var peaks smartshare.Samples
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

// Learn takes in an ended attempt. held is what it was promised.
func (m *Memory) Learn(item facts.ItemNo, state facts.AttemptState, why facts.Reason, held, peak int64) {
	m.Largest = max(m.Largest, peak)
	switch {
	case state == facts.Done || state == facts.Superseded:
		m.Peaks.Add(float64(peak))
		delete(m.Raised, item)
	case state == facts.Failed && why.OutOfMemory():
		if m.Raised == nil {
			m.Raised = map[facts.ItemNo]int64{}
		}
		m.Raised[item] = max(m.Raised[item], afterOut(held, peak, why))
	}
}

// OutAt is the memory at which an attempt ran out: its limit if that was it, else all it got.
func OutAt(held, peak int64, why facts.Reason) int64 {
	if why == facts.ReasonMemoryLimit && held > 0 {
		return held
	}
	return max(held, peak)
}

// afterOut is the need of an item after it ran out of memory: twice as much. What hosts have caps it later.
func afterOut(held, peak int64, why facts.Reason) int64 {
	raised, _ := smartshare.AfterOutOfMemory(0, OutAt(held, peak, why), math.MaxInt64/2)
	return raised
}

// Learned estimates the memory that an item needs from the items that ended; need is 0 if they say nothing. Least is
// the smallest amount that is worth a try: what was requested or measured, up to need, and more than what was not
// enough for this item. A single item that ran out of memory raises only its own need. Once two items, or one in
// twenty, have run out of memory, the need of all items rises.
func (m *Memory) Learned(p MemoryPolicy, given int64, next facts.ItemNo) (need, least int64) {
	if m.Peaks.Count() > 0 || given > 0 {
		need = m.Peaks.Memory(given, p.Trim, p.rule())
	}
	least = min(need, max(given, m.Largest))
	if m.Peaks.Count() == 0 || p.Quantile >= 1 {
		need, least = max(need, m.Largest), max(least, m.Largest)
	}
	raised := m.Raised[next]
	if n := len(m.Raised); n > 0 {
		out := slices.Sorted(maps.Values(m.Raised))
		switch {
		case 20*n >= n+m.Peaks.Count():
			raised = max(raised, out[n-1])
		case n > 1:
			raised = max(raised, out[n-2])
		}
	}
	if own := m.Raised[next]; own > 0 {
		least = max(least, Notably(own/2))
	}
	return max(need, raised), least
}

// Notably is what is enough more than a memory that was too little to be worth a try.
func Notably(bytes int64) int64 { return bytes/10*11 + 1 }
