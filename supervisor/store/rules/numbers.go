package rules

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// Numbers are what the attempts and marks of a job add up to.
type Numbers struct {
	Running, Complete, Failed, Killed, blocked int
	FailedAttempts                             int
	StartedAt                                  time.Time
	MeanWall                                   float64
	Failure                                    facts.Failure // of the failed, if alike
	Memory                                     facts.PastMemory
}

// CompactedNumbers are what is known of a job's attempts that have become daily sums.
type CompactedNumbers struct {
	FirstStart *time.Time
	DoneWall   float64 // seconds
	DoneCount  int
	Failed     int // attempts
	Memory     facts.PastMemory
}

// Enter adds them to those of the attempts that are rows; marks that decide items are counted after.
func (n *Numbers) Enter(old CompactedNumbers) {
	if at := old.FirstStart; at != nil && (n.StartedAt.IsZero() || at.Before(n.StartedAt)) {
		n.StartedAt = Exact(*at)
	}
	if done := n.Complete + old.DoneCount; done > 0 {
		n.MeanWall = (n.MeanWall*float64(n.Complete) + old.DoneWall) / float64(done)
	}
	n.FailedAttempts += old.Failed
	n.Memory = n.Memory.And(old.Memory)
}

// Mark counts items that a mark decides.
func (n *Numbers) Mark(kind facts.MarkKind, items int) {
	switch kind {
	case facts.MarkKilled:
		n.Killed += items
	case facts.MarkBlocked:
		n.blocked += items
	case facts.MarkComplete:
		n.Complete += items
	case facts.MarkFailed:
		n.Failed += items
		if items > 0 {
			n.Failure = facts.Failure{} // how is not known any more
		}
	}
}

// ViewOf joins a row with its numbers. The farm derives the same from what it holds in memory.
func ViewOf(q store.JobQuery, counted CountedJob, n Numbers) facts.JobView {
	j := counted.Facts
	v := facts.JobView{JobFacts: j, Status: string(j.State), StartedAt: n.StartedAt, MeanItemSeconds: n.MeanWall}
	if q.Memory != nil {
		v.Memory = q.Memory(j.Reservations, n.Memory)
	}
	touched := n.Running + n.Complete + n.Failed + n.Killed + n.blocked
	v.Items = facts.ItemCounts{Total: touched, Running: n.Running, Complete: n.Complete, Failed: n.Failed,
		Killed: n.Killed, Blocked: n.blocked}
	v.FailedAttempts = n.FailedAttempts
	if counted.items >= 0 {
		v.Items.Total = counted.items
	}
	v.Items.Pending = v.Items.Total - touched
	switch {
	case j.State == facts.Active && n.Running > 0:
		v.Status = "running"
	case j.State == facts.Active:
		v.Status = "pending"
	case j.State == facts.Blocked:
		v.Items.Blocked += v.Items.Pending
		v.Items.Pending = 0
	case j.State == facts.FailedJob:
		v.Wait(facts.FailedItems(&j, v.Items.Failed, v.Items.Total, n.Failure))
	}
	return v
}

// ItemsOf counts an agenda. Its order takes memory and changes no count.
func ItemsOf(spec agenda.Spec) (int, error) {
	key := counted{maphash.String(countSeed, spec.Range), len(spec.Range), spec.Chunk, spec.Partitions, spec.Named}
	if len(spec.Range) >= LongRange {
		if n, known := counts.Load(key); known {
			return n.(int), nil
		}
	}
	spec.Order = agenda.Ascend
	a, err := agenda.Parse(spec, agenda.MaxItems)
	if err != nil {
		return 0, err
	}
	if len(spec.Range) >= LongRange && kept.Add(1) <= countsKept {
		counts.Store(key, a.Len())
	}
	return a.Len(), nil
}

// counted is an agenda that takes long to read: up to a third of a second, for each list that the job is in. What it
// counts never changes, so it is kept.
type counted struct {
	hash                      uint64
	bytes, chunks, partitions int
	named                     bool
}

// CountedJob is a job with the number of its items, -1 if it is not known: a list does not keep the range that they
// were counted from.
type CountedJob struct {
	Facts facts.JobFacts
	items int
}

// Known is what the caller of a list knows of a row.
func Known(q store.JobQuery, row facts.JobFacts) (v facts.JobView, known bool) {
	if q.Known == nil {
		return v, false
	}
	return q.Known(row)
}

// CountJob counts the items of a row.
func CountJob(q store.JobQuery, row facts.JobFacts) CountedJob {
	j := CountedJob{row, -1}
	// An agenda that is no longer understood must not take the whole listing down; qb audit names it.
	if n, err := ItemsOf(row.Agenda); err == nil {
		j.items = n
	}
	if q.Brief && len(row.Agenda.Range) > LongRange {
		j.Facts.Agenda.Range = ""
	}
	return j
}

const (
	LongRange  = 8 << 10
	countsKept = 100_000
)

var (
	countSeed = maphash.MakeSeed()
	counts    sync.Map // of counted
	kept      atomic.Int64
)

// PageOf is how many rows a call with this limit returns at most.
func PageOf(limit int) int {
	if limit <= 0 {
		return store.MaxPage
	}
	return min(limit, store.MaxPage)
}
