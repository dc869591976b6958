package farm_test

import (
	"testing"
	"time"

	"qb/supervisor/farm"
)

// BenchmarkChange measures one event planned by itself and by a plan of everything, from the event to the last
// row to be written: a job arrives and gets its primaries and its share from the highest; an instance whose job
// has no item left closes and its slot goes to the lowest. The plan's part is told by itself; the rest of an arrival
// is its answer, which says why the job waits.
func BenchmarkChange(b *testing.B) {
	for _, size := range liveSizes {
		for _, whole := range []bool{false, true} {
			how := "/small"
			if whole {
				how = "/whole"
			}
			b.Run(size.name+"/arrival"+how, func(b *testing.B) {
				l := newLiveFarm(b, size, 0)
				measureChange(b, l, whole, l.submit)
			})
			b.Run(size.name+"/end"+how, func(b *testing.B) {
				l := newLiveFarm(b, size, 11*size.hosts*size.slots/size.jobs/10)
				measureChange(b, l, whole, func() { l.close(b) })
			})
		}
	}
}

// close lets items of the first host end until one of their jobs has no other for the instance.
func (l *liveFarm) close(b *testing.B) {
	for l.end(b); !farm.Stale(l.Farm); l.end(b) {
		l.take()
	}
}

func measureChange(b *testing.B, l *liveFarm, whole bool, event func()) {
	before, planned, used := l.Counts(), time.Duration(0), farm.CPUTime()
	b.ReportAllocs()
	for b.Loop() {
		l.now = l.now.Add(time.Millisecond) // not so long that hosts, which say nothing here, fall silent
		event()
		began := time.Now()
		if whole {
			farm.ForcePlan(l.Farm, l.now)
		} else {
			l.Plan(l.now)
		}
		planned += time.Since(began)
		l.take()
	}
	b.ReportMetric(float64((farm.CPUTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
	after := l.Counts()
	b.ReportMetric(float64(planned.Microseconds())/float64(b.N), "plan-µs/op")
	b.ReportMetric(float64(after.SmallPlans-before.SmallPlans)/float64(b.N), "small/op")
	b.ReportMetric(float64(after.Fallbacks-before.Fallbacks)/float64(b.N), "fallbacks/op")
}
