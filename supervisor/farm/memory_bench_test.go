package farm_test

import (
	"fmt"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/farm"
)

// BenchmarkPlanWithMemory fills the slots of hosts that have told their memory, by jobs that say what they
// need and by jobs that do not.
func BenchmarkPlanWithMemory(b *testing.B) {
	for _, size := range []struct{ hosts, jobs int }{{100, 10}, {1000, 100}, {5000, 100}} {
		for _, reservation := range []string{"", "host.memory=1GB"} {
			b.Run(fmt.Sprintf("hosts-%d/jobs-%d/%s", size.hosts, size.jobs, reservation), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					f, now := bigFarm(size.hosts, size.jobs, reservation)
					b.StartTimer()
					f.Plan(now)
					b.StopTimer()
					b.ReportMetric(float64(len(f.Take(now).Writes)), "writes")
					b.StartTimer()
				}
			})
		}
	}
}

func bigFarm(hosts, jobs int, reservation string) (*farm.Farm, time.Time) {
	p, now := testPolicy(), time.Unix(1_000_000, 0)
	p.Share.MaxCPUsLimit = 1 << 20
	f := farm.New(p)
	for n := range hosts {
		f.Step(now, farm.WorkerSynced{Ticket: farm.Ticket(n + 1), Incarnation: "i", Sequence: 1, Total: 64 << 30, Available: 60 << 30,
			Host: farm.HostFacts{ID: farm.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: "s", Slots: 16, Memory: 64 << 30, Cluster: "/"}})
		f.Step(now, farm.WorkerSynced{Ticket: farm.Ticket(n + 1), Incarnation: "i", Sequence: 2, Total: 64 << 30, Available: 60 << 30,
			Host: farm.HostFacts{ID: farm.HostID(fmt.Sprintf("h%05d", n)), Boot: "b", StateID: "s", Slots: 16, Memory: 64 << 30, Cluster: "/"}})
	}
	width := -1
	for n := range jobs {
		f.Step(now, farm.JobSubmitted{Facts: farm.JobFacts{Name: fmt.Sprint(n), User: "u", Command: []string{"true"}, CPUs: 1, MaxCPUs: &width,
			Agenda: agenda.Spec{Range: "1-10000"}, Reservations: reservation}})
	}
	f.Take(now)
	return f, now
}
