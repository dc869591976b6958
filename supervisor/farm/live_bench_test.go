package farm_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// liveFarm is a farm in full swing: all jobs have arrived and what fits runs. With groups, hosts are of that many
// kinds and each job may use half of them.
type liveFarm struct {
	*farm.Farm
	now     time.Time
	classes int
	jobs    int
	speaker facts.HostFacts // the first host
	syncs   uint64          // that it has sent
	running []message.ReportedInstance
	items   int // of each job; 0: 10 to 1009
	size    liveSize
	setUp   time.Duration // processor time of the farms before this one, for which no event is to be blamed
}

// renew begins with a new farm where this one is no more what it was made to be: its jobs have nothing left for the
// first host, or it has twice as many as it began with. That is not measured.
func (l *liveFarm) renew(b *testing.B) {
	b.Helper()
	b.StopTimer()
	used, setUp := farm.CPUTime(), l.setUp
	*l = *newLiveFarm(b, l.size, l.items)
	if len(l.running) < l.size.slots {
		b.Fatalf("the first host runs %d instances on %d slots", len(l.running), l.size.slots)
	}
	runtime.GC()
	l.setUp = setUp + farm.CPUTime() - used
	b.StartTimer()
}

// arrive submits a job to a farm that has not yet twice as many as it began with.
func (l *liveFarm) arrive(b *testing.B) {
	if l.jobs == 2*l.size.jobs {
		l.renew(b)
	}
	l.submit()
}

type liveSize struct {
	name                        string
	jobs, hosts, slots, classes int
}

var liveSizes = []liveSize{
	{name: "10000-jobs-100000-slots", jobs: 10_000, hosts: 6_250, slots: 16, classes: 0},
	{name: "500-jobs-10000-slots-50-classes", jobs: 500, hosts: 625, slots: 16, classes: 50},
}

func newLiveFarm(b *testing.B, size liveSize, items int) *liveFarm {
	b.Helper()
	jobs, hosts, slots, classes := size.jobs, size.hosts, size.slots, size.classes
	p := testPolicy()
	p.Share.MaxCPUsLimit = 1 << 20
	l := &liveFarm{Farm: farm.New(p), now: time.Unix(1_000_000, 0), classes: classes, items: items, size: size}
	for n := range hosts {
		row := facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: slots, Cluster: "/"}
		if classes > 0 {
			row.Groups = []string{fmt.Sprint("g", n%classes)}
		}
		for s := range uint64(2) {
			l.Step(l.now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: s + 1, Host: row})
		}
		if n == 0 {
			l.speaker, l.syncs = row, 2
		}
	}
	for range jobs {
		l.submit()
	}
	for more := true; more; {
		l.Plan(l.now)
		more = l.take() > 0
	}
	return l
}

// submit lets a job arrive that would take all it can get.
func (l *liveFarm) submit() {
	width, items := -1, l.items
	if items == 0 {
		items = 10 + l.jobs%1000
	}
	row := facts.JobFacts{Name: "j", User: fmt.Sprint("u", l.jobs%100), Command: []string{"true"}, CPUs: 1 + l.jobs%3, MaxCPUs: &width,
		Priority: 100 * (1 + l.jobs%3), Agenda: agenda.Spec{Range: fmt.Sprintf("1-%d", items)}}
	for c := range l.classes {
		if (c*(l.jobs%17+1)+l.jobs)%2 == 0 {
			row.Groups = append(row.Groups, fmt.Sprint("g", c))
		}
	}
	l.jobs++
	l.Step(l.now, message.JobSubmitted{Ticket: outbox.Ticket(l.jobs), Facts: row, By: row.User})
}

// take makes one commit, and says of how many writes; the first host runs what it was given.
func (l *liveFarm) take() int {
	writes := l.Take(l.now).Writes
	for _, w := range writes {
		if w, ok := w.(facts.StartAttempt); ok && w.Attempt.Host == l.speaker.ID {
			l.running = append(l.running, message.ReportedInstance{Job: w.Attempt.Job, Instance: w.Attempt.Instance, Attempt: w.Attempt.AttemptID, State: "running"})
		}
	}
	return len(writes)
}

// end lets an item of the first host end.
func (l *liveFarm) end(b *testing.B) {
	if len(l.running) == 0 {
		l.renew(b)
	}
	over, exit := l.running[0].Attempt, 0
	l.running = l.running[1:]
	l.syncs++
	l.Step(l.now, message.WorkerSynced{Ticket: 1, Incarnation: "i", Sequence: l.syncs, Heard: agents.LastAnswer(l.syncs - 1), Host: l.speaker, Instances: l.running,
		Finished: []message.ReportedEnd{{Attempt: over, Outcome: "exit", ExitCode: &exit, Wall: 1}}})
}

// BenchmarkLive measures what one event costs a farm that runs, from its arrival to the last row to be written:
// a plan of everything, a view of everything, a snapshot for a trial, the end of an item after which its instance goes on, an end that asks for a plan, a job's
// arrival, and one with the plan that places it.
func BenchmarkLive(b *testing.B) {
	for _, size := range liveSizes {
		l := newLiveFarm(b, size, 0)
		b.Run(size.name+"/full-plan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.now = l.now.Add(time.Second)
				farm.ForcePlan(l.Farm, l.now)
				l.take()
			}
		})
		b.Run(size.name+"/view", func(b *testing.B) {
			b.ReportAllocs()
			used := farm.CPUTime()
			for b.Loop() {
				l.now = l.now.Add(time.Second)
				l.View(l.now)
			}
			b.ReportMetric(float64((farm.CPUTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
		})
		b.Run(size.name+"/snapshot", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Snapshot(l.now)
			}
		})
		b.Run(size.name+"/end", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.now = l.now.Add(time.Millisecond)
				l.end(b)
				l.take()
			}
		})
		b.Run(size.name+"/end-and-plan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.now = l.now.Add(time.Second)
				l.end(b)
				farm.ForcePlan(l.Farm, l.now)
				l.take()
			}
		})
		b.Run(size.name+"/arrival-and-plan", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.now = l.now.Add(time.Second)
				l.arrive(b)
				l.Plan(l.now)
				l.take()
			}
		})
		b.Run(size.name+"/arrival", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.arrive(b)
				l.take()
			}
		})
	}
}
