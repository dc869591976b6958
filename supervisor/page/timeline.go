package page

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"qb/internal/pause"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Every is the time between two samples of a day; Coarse that between two of a week.
const (
	Every  = 10 * time.Second
	Coarse = 2 * time.Minute

	day, week = 24 * time.Hour, 7 * 24 * time.Hour
	// mostEntries are the jobs of all samples together: where more jobs run at once, samples reach less far back.
	mostFine, mostCoarse = 4 << 20, 2 << 20
	mostMarks            = 20_000
)

// entry is a job that had instances: 8 bytes of a sample.
type entry struct {
	job                uint32
	primary, secondary uint16
}

// sample is the farm at a moment, in steps of Every since 1970.
type sample struct {
	tick    int64
	entries []entry
}

// line is samples, the oldest first.
type line struct {
	samples []sample
	entries int
	keep    int64 // ticks
	most    int   // entries
}

func (l *line) add(s sample) {
	l.samples, l.entries = append(l.samples, s), l.entries+len(s.entries)
	gone := 0
	for ; gone < len(l.samples)-1 && (l.samples[gone].tick <= s.tick-l.keep || l.entries > l.most); gone++ {
		l.entries -= len(l.samples[gone].entries)
		l.samples[gone].entries = nil
	}
	l.samples = l.samples[gone:]
}

// mark is what happened to a job between two samples.
type mark struct {
	tick  int64
	job   facts.JobID
	kind  string
	count int
}

// The kinds of marks.
const (
	Stopped  = "stopped"  // items that were stopped or left to make room
	Promoted = "promoted" // secondary instances that became primary
)

// owner is what is asked for besides the job.
type owner struct{ name, user, account string }

// Timeline is what is remembered.
type Timeline struct {
	mu           sync.Mutex
	fine, coarse line
	owners       map[uint32]owner
	marks        []mark // the oldest first
}

//	view, each 10 s ──▶ Take ──▶ samples of a day ─┐
//	                        └──▶ samples of a week ┼──▶ Of: means by job, user or account, and marks
//	writes of a commit ──▶ Note ──▶ marks ─────────┘
//
// A sample of a day is of 10 seconds, one of a week of 2 minutes. Marks count the items that were stopped for others
// and the instances that were promoted. While another supervisor led, or none, there is a gap.

// NewTimeline remembers nothing yet.
func NewTimeline() *Timeline {
	return &Timeline{fine: line{keep: ticks(day), most: mostFine}, coarse: line{keep: ticks(week), most: mostCoarse},
		owners: map[uint32]owner{}}
}

func ticks(d time.Duration) int64 { return int64(d / Every) }

func tickOf(at time.Time) int64 { return at.UnixNano() / int64(Every) }

// Run takes samples until the context ends. There is no view while another supervisor leads.
func (t *Timeline) Run(ctx context.Context, view func() *message.View, now func() time.Time) {
	for {
		at := now()
		next := at.Truncate(Every).Add(Every + Every/20) // inside of the next step, not at its edge
		if pause.For(ctx, next.Sub(at)) != nil {
			return
		}
		if v := view(); v != nil {
			t.Take(v, now())
		}
	}
}

// Take takes a sample, if there is none of this step.
func (t *Timeline) Take(v *message.View, now time.Time) {
	s := sample{tick: tickOf(now)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.fine.samples); n > 0 && t.fine.samples[n-1].tick >= s.tick {
		return
	}
	for _, j := range v.Jobs {
		if j.Primary+j.Secondary+j.Draining == 0 || j.ID > math.MaxUint32 {
			continue
		}
		e := entry{uint32(j.ID), small(j.Primary), small(j.Secondary + j.Draining)}
		s.entries = append(s.entries, e)
		t.owners[e.job] = owner{j.Name, j.User, j.Account}
	}
	t.fine.add(s)
	if n := len(t.coarse.samples); n == 0 || s.tick/ticks(Coarse) > t.coarse.samples[n-1].tick/ticks(Coarse) {
		t.coarse.add(s)
		t.forget()
	}
}

func small(n int) uint16 { return uint16(min(n, math.MaxUint16)) }

// forget lets jobs go that no sample has, when they have become many.
func (t *Timeline) forget() {
	used := map[uint32]bool{}
	if len(t.owners) < 2*len(t.coarse.samples[len(t.coarse.samples)-1].entries)+10_000 {
		return
	}
	for _, l := range []*line{&t.fine, &t.coarse} {
		for _, s := range l.samples {
			for _, e := range s.entries {
				used[e.job] = true
			}
		}
	}
	maps.DeleteFunc(t.owners, func(job uint32, _ owner) bool { return !used[job] })
}

// Note takes in what a commit has made durable.
func (t *Timeline) Note(writes []facts.Write) {
	for _, w := range writes {
		switch w := w.(type) {
		case facts.EndAttempt:
			if w.State == facts.Preempted {
				t.mark(w.EndedAt, w.ID.Job, Stopped)
			}
		case facts.AddEvent:
			if w.Event.Type == "promoted" {
				t.mark(w.Event.At, w.Event.Job, Promoted)
			}
		}
	}
}

func (t *Timeline) mark(at time.Time, job facts.JobID, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tick := tickOf(at)
	for n := len(t.marks) - 1; n >= 0 && t.marks[n].tick >= tick; n-- {
		if m := &t.marks[n]; m.tick == tick && m.job == job && m.kind == kind {
			m.count++
			return
		}
	}
	t.marks = append(t.marks, mark{tick, job, kind, 1})
	if over := len(t.marks) - mostMarks; over > 0 {
		t.marks = slices.Delete(t.marks, 0, over+mostMarks/10)
	}
}
