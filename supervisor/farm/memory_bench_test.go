package farm_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// BenchmarkPlanWithMemory fills the slots of hosts that have reported their memory, by jobs that say what they need and
// by jobs that do not, in turns with the same hosts that have reported none: x-plain is the ratio.
func BenchmarkPlanWithMemory(b *testing.B) {
	for _, size := range []struct{ hosts, jobs int }{{100, 10}, {1000, 100}, {10_000, 100}} {
		for _, reservation := range []string{"", "host.memory=1GB"} {
			b.Run(fmt.Sprintf("hosts-%d/jobs-%d/%s", size.hosts, size.jobs, reservation), func(b *testing.B) {
				var took, worst [2]time.Duration
				writes := 0
				for b.Loop() {
					for n, memory := range []int64{0, 64 << 30} {
						b.StopTimer()
						f, now := bigFarm(size.hosts, size.jobs, memory, reservation)
						runtime.GC()
						b.StartTimer()
						began := time.Now()
						var longest time.Duration
						writes, longest = planAll(f, now)
						took[n] += time.Since(began)
						worst[n] = max(worst[n], longest)
					}
				}
				each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
				b.ReportMetric(each(took[0]), "plain-ms")
				b.ReportMetric(each(took[1]), "memory-ms")
				b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-plain")
				b.ReportMetric(max(worst[0], worst[1]).Seconds()*1000, "longest-ms")
				b.ReportMetric(float64(writes), "writes")
			})
		}
	}
}

// BenchmarkBestFit is one more job on a farm of 10,000 hosts that have reported their memory, and all of whose slots
// but one on each run: its instance goes where the least room suffices. Beside it the same without memory.
func BenchmarkBestFit(b *testing.B) {
	const hosts = 10_000
	farms, took := [2]*farm.Farm{}, [2]time.Duration{}
	now := time.Time{}
	for n, memory := range []int64{0, 64 << 30} {
		farms[n], now = bigFarm(hosts, 0, memory, "")
		none := 15 * hosts
		farms[n].Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: "load", User: "u", Command: []string{"true"}, CPUs: 1, MaxCPUs: &none,
			Agenda: agenda.Spec{Range: "1-1000000"}, Reservations: "host.memory=1GB"}})
		planAll(farms[n], now)
	}
	for b.Loop() {
		for n, f := range farms {
			none := 0
			began := time.Now()
			f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: "one", User: "u", Command: []string{"true"}, CPUs: 1, MaxCPUs: &none,
				Agenda: agenda.Spec{Range: "1"}, Reservations: "host.memory=2GB"}})
			f.Plan(now)
			took[n] += time.Since(began)
			starts := 0
			for _, w := range f.Take(now).Writes {
				if _, ok := w.(facts.StartAttempt); ok {
					starts++
				}
			}
			if starts != 1 {
				b.Fatalf("%d starts", starts)
			}
		}
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(each(took[0]), "plain-ms")
	b.ReportMetric(each(took[1]), "memory-ms")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-plain")
}

// BenchmarkAnnouncements is the interval of 10 s in which each of 10,000 hosts tells once that its free memory has
// changed, while a job waits for more than any of them has: what the state machine computes for the reports, its plans
// and the answers, in seconds of a processor. HTTP and JSON are not in it.
func BenchmarkAnnouncements(b *testing.B) {
	const hosts, interval, delay = 10_000, 10 * time.Second, 50 * time.Millisecond
	f, now := bigFarm(hosts, 0, 64<<30, "")
	f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: "large", User: "u", Command: []string{"true"}, CPUs: 1,
		Agenda: agenda.Spec{Range: "1-100"}, Reservations: "host.memory=63GB"}})
	sequence, used := uint64(2), farm.CPUTime()
	for b.Loop() {
		sequence++
		for n := range hosts {
			f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: sequence, Total: 64 << 30, Available: 40<<30 + int64(sequence%8)<<30,
				Host: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: 16, Memory: 64 << 30, Cluster: "/"}})
			if n%int(hosts*delay/interval) == 0 {
				now = now.Add(delay)
				f.Plan(now)
				f.Take(now)
			}
		}
	}
	each := (farm.CPUTime() - used).Seconds() / float64(b.N)
	b.ReportMetric(each, "cpu-s/interval")
	b.ReportMetric(100*each/interval.Seconds(), "%-of-a-processor")
}

// BenchmarkBestFitOfClasses is the same with many starts at once of jobs of 50 sizes, on 10,000 hosts that groups
// divide into 50 classes; each job may use two of them, some all. ms-per-start is of the whole plan.
func BenchmarkBestFitOfClasses(b *testing.B) {
	const hosts, classes, width = 10_000, 50, 100
	for b.Loop() {
		b.StopTimer()
		p, now := testPolicy(), time.Unix(1_000_000, 0)
		f := farm.New(p)
		for n := range hosts {
			memory := int64(64+n%17) << 30
			for sequence := range uint64(2) {
				f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: sequence + 1, Total: memory, Available: memory,
					Host: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: 16, Memory: memory, Cluster: "/",
						Groups: []string{fmt.Sprintf("g%d", n%classes)}}})
			}
		}
		none := 0
		for n := range classes {
			row := facts.JobFacts{Name: "one", User: "u", Command: []string{"true"}, CPUs: width, MaxCPUs: &none, Agenda: agenda.Spec{Range: "1-100"},
				Reservations: fmt.Sprintf("host.memory=%dGB", 1+n%40)}
			if n%4 > 0 {
				row.Groups = []string{fmt.Sprintf("g%d", n%classes), fmt.Sprintf("g%d", n/7%classes)}
			}
			f.Step(now, message.JobSubmitted{Facts: row})
		}
		f.Take(now)
		runtime.GC()
		b.StartTimer()
		planAll(f, now)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*classes*width), "ms-per-start")
}

// planAll plans over as many commits as it takes: how many writes they have, and how long the longest step took.
func planAll(f *farm.Farm, now time.Time) (writes int, longest time.Duration) {
	for {
		began := time.Now()
		f.Plan(now)
		n := len(f.Take(now).Writes)
		longest = max(longest, time.Since(began))
		if writes += n; n == 0 {
			return writes, longest
		}
	}
}

func bigFarm(hosts, jobs int, memory int64, reservation string) (*farm.Farm, time.Time) {
	p, now := testPolicy(), time.Unix(1_000_000, 0)
	p.Share.MaxCPUsLimit = 1 << 20
	f := farm.New(p)
	for n := range hosts {
		f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: 1, Total: memory, Available: memory / 16 * 15,
			Host: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: 16, Memory: memory, Cluster: "/"}})
		f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: 2, Total: memory, Available: memory / 16 * 15,
			Host: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: fmt.Sprint(n), Slots: 16, Memory: memory, Cluster: "/"}})
	}
	width := -1
	for n := range jobs {
		f.Step(now, message.JobSubmitted{Facts: facts.JobFacts{Name: fmt.Sprint(n), User: "u", Command: []string{"true"}, CPUs: 1, MaxCPUs: &width,
			Agenda: agenda.Spec{Range: "1-10000"}, Reservations: reservation}})
	}
	f.Take(now)
	return f, now
}
