package farm_test

import (
	"testing"
	"time"

	"qb/supervisor/farm"
)

// BenchmarkChange measures one event with its plan, from the event to the last row to be written: a job arrives and
// gets its primaries and its share from the highest; an instance whose job has no item left closes and its slot goes to
// the lowest. The plan's part is measured by itself; the rest of an arrival is its answer.
func BenchmarkChange(b *testing.B) {
	for _, size := range liveSizes {
		b.Run(size.name+"/arrival", func(b *testing.B) {
			l := newLiveFarm(b, size, 0)
			measureChange(b, l, func() { l.arrive(b) })
		})
		b.Run(size.name+"/end", func(b *testing.B) {
			l := newLiveFarm(b, size, 11*size.hosts*size.slots/size.jobs/10)
			measureChange(b, l, func() { l.close(b) })
		})
	}
}

// close lets items of the first host end until one of their jobs has no other for the instance.
func (l *liveFarm) close(b *testing.B) {
	if len(l.running) < l.size.slots {
		l.renew(b)
	}
	for l.end(b); !farm.Stale(l.Farm); l.end(b) {
		l.take()
	}
}

func measureChange(b *testing.B, l *liveFarm, event func()) {
	planned, used := time.Duration(0), farm.CPUTime()
	b.ReportAllocs()
	for b.Loop() {
		l.now = l.now.Add(time.Millisecond) // not so long that hosts, which say nothing here, fall silent
		event()
		began := time.Now()
		farm.ForcePlan(l.Farm, l.now)
		planned += time.Since(began)
		l.take()
	}
	each := func(n time.Duration) float64 { return float64(n.Microseconds()) / float64(b.N) }
	b.ReportMetric(each(farm.CPUTime()-used-l.setUp), "cpu-µs/op")
	b.ReportMetric(each(planned), "plan-µs/op")
}
