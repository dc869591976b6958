package farm_test

import (
	"fmt"
	"testing"
	"time"

	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// BenchmarkRegister: what a host costs that registers in a farm of so many, from its first sync to its second.
func BenchmarkRegister(b *testing.B) {
	for _, hosts := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(hosts, "-hosts"), func(b *testing.B) {
			for range b.N {
				f, now := farm.New(testPolicy()), time.Unix(1_000_000, 0)
				for n := range hosts {
					row := facts.HostFacts{ID: facts.HostID(fmt.Sprintf("h%05d", n)), MachineID: fmt.Sprint("m", n), Boot: "b",
						StateID: fmt.Sprint(n), Key: fmt.Sprint("k", n), Slots: 16, Cluster: "/"}
					for s := range uint64(2) {
						f.Step(now, message.WorkerSynced{Ticket: outbox.Ticket(n + 1), Incarnation: "i", Sequence: s + 1, Host: row})
					}
					f.Take(now)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*hosts), "µs/host")
		})
	}
}
