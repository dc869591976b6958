package planner

import (
	"fmt"
	"testing"
)

// BenchmarkBalanceMemory measures farms whose memory decides and whose jobs need different amounts.
func BenchmarkBalanceMemory(b *testing.B) {
	for _, size := range []struct{ jobs, hosts, slots int }{{5, 10, 8}, {20, 50, 16}, {50, 200, 16}, {200, 625, 16}} {
		s := benchFarm(size.jobs, size.hosts, size.slots, 0)
		for h := range s.Hosts {
			s.Hosts[h].Memory = 64 << 30
		}
		d := dice(3)
		for j := range s.Jobs {
			s.Jobs[j].Memory = int64(d.roll(1, 12)) << 30
		}
		name := fmt.Sprintf("%dx%d", size.jobs, size.hosts*size.slots)
		settled := applied(s, Balance(s))
		b.Run(name+"/empty", func(b *testing.B) { benchBalance(b, s) })
		b.Run(name+"/settled", func(b *testing.B) { benchBalance(b, settled) })
	}
}
