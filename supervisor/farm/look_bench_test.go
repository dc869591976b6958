package farm_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"qb/supervisor/farm"
	"qb/supervisor/farm/agents"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// lookSize is the farm of docs/benchmarks.md that stays full.
var lookSize = liveSize{name: "200-jobs-160000-slots", jobs: 200, hosts: 10_000, slots: 16}

// busyFarm is a live farm of which each host reports.
type busyFarm struct {
	*liveFarm
	rows    []facts.HostFacts
	synced  []uint64
	running [][]message.ReportedInstance
	next    int // the host that speaks next
}

func newBusyFarm(b *testing.B, size liveSize) *busyFarm {
	f := &busyFarm{liveFarm: newLiveFarm(b, size, 100_000), running: make([][]message.ReportedInstance, size.hosts)}
	for n := range size.hosts {
		f.rows = append(f.rows, facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: size.slots, Cluster: "/"})
		f.synced = append(f.synced, 2)
	}
	places := map[facts.HostID]int{}
	for n, row := range f.rows {
		places[row.ID] = n
	}
	for _, a := range farm.Attempts(f.Farm) {
		n := places[a.Host]
		f.running[n] = append(f.running[n], message.ReportedInstance{Job: a.Job, Instance: a.Instance, Attempt: a.AttemptID, State: "running"})
	}
	return f
}

// endOn lets one item of the next host end; its instance takes the next one.
func (f *busyFarm) endOn() {
	n := f.next
	f.next = (f.next + 1) % len(f.rows)
	over, exit := f.running[n][0].Attempt, 0
	f.running[n] = f.running[n][1:]
	f.synced[n]++
	f.Step(f.now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: f.synced[n], Heard: agents.LastAnswer(f.synced[n] - 1), Host: f.rows[n], Instances: f.running[n],
		Finished: []message.ReportedEnd{{Attempt: over, Outcome: "exit", ExitCode: &exit, Wall: 60}}})
	for _, w := range f.Take(f.now).Writes {
		if w, ok := w.(facts.StartAttempt); ok {
			a := w.Attempt
			f.running[n] = append(f.running[n], message.ReportedInstance{Job: a.Job, Instance: a.Instance, Attempt: a.AttemptID, State: "running"})
		}
	}
}

// BenchmarkLook measures the view of a full farm after so many items have ended since the last one.
func BenchmarkLook(b *testing.B) {
	f := newBusyFarm(b, lookSize)
	for _, ends := range []int{0, 1, 100, 2667} {
		b.Run(fmt.Sprint(ends, "-ends"), func(b *testing.B) {
			b.ReportAllocs()
			f.View(f.now)
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				f.now = f.now.Add(50 * time.Millisecond)
				for range ends {
					f.endOn()
				}
				before := farm.CPUTime()
				b.StartTimer()
				f.View(f.now)
				b.StopTimer()
				used += farm.CPUTime() - before
				b.StartTimer()
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkTick measures a tick of a full farm in which nothing is due.
func BenchmarkTick(b *testing.B) {
	f := newBusyFarm(b, lookSize)
	used := farm.CPUTime()
	for b.Loop() {
		f.now = f.now.Add(time.Millisecond)
		f.Step(f.now, message.Ticked{})
		f.Take(f.now)
	}
	b.ReportMetric(float64((farm.CPUTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkMemory measures what a full farm has in memory.
func BenchmarkMemory(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		before := heap()
		f := newBusyFarm(b, lookSize)
		for range 2 * lookSize.hosts {
			f.endOn()
		}
		f.running = nil
		without := heap()
		view := f.View(f.now)
		with := heap()
		b.ReportMetric((without-before)/float64(lookSize.hosts*lookSize.slots), "B/instance")
		b.ReportMetric((with-without)/float64(lookSize.hosts*lookSize.slots), "view-B/instance")
		runtime.KeepAlive(view)
		runtime.KeepAlive(f)
	}
}
