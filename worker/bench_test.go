package worker

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
)

// BenchmarkItemsOfOneShim is the agent's own speed: the supervisor of the test answers at once.
func BenchmarkItemsOfOneShim(b *testing.B) { benchmarkItems(b, 1, "true") }

// BenchmarkItemsOfFourShims shows what is shared.
func BenchmarkItemsOfFourShims(b *testing.B) { benchmarkItems(b, 4, "true") }

// BenchmarkItemsWithOutput ships a log for each item.
func BenchmarkItemsWithOutput(b *testing.B) { benchmarkItems(b, 1, "echo", "one line") }

// BenchmarkItemsOfFourPrograms is the speed of programs that stay loaded.
func BenchmarkItemsOfFourPrograms(b *testing.B) {
	f := newScriptedFarm(b)
	f.loadOnce(1, "plain")
	f.benchmark(b, 4)
}

func benchmarkItems(b *testing.B, instances int, command ...string) {
	f := newScriptedFarm(b)
	f.job(1, command...)
	f.benchmark(b, instances)
}

func (f *scriptedFarm) benchmark(b *testing.B, instances int) {
	stop := runAgentLogging(b, testConfig(b, f), true, slog.DiscardHandler)
	f.await("the first sync", func() bool { return f.syncs > 0 })
	next, done := 0, 0
	began, busy := time.Now(), familyTime()
	b.ResetTimer()
	f.with(func() {
		f.refill = func(f *scriptedFarm, end api.Finished) {
			done++
			if next < b.N {
				f.wantLocked(core.Key{Job: 1, Instance: end.Instance}, attempt(1, next))
				next++
			}
		}
		for ; next < min(instances, b.N); next++ {
			f.wantLocked(core.Key{Job: 1, Instance: next}, attempt(1, next))
		}
	})
	f.await("all items", func() bool { return done == b.N })
	b.StopTimer()
	took := time.Since(began)
	stop()
	time.Sleep(100 * time.Millisecond) // its shims are waited for
	b.ReportMetric((familyTime()-busy)/float64(b.N)*1000, "cpu-ms/item")
	b.ReportMetric(float64(b.N)/took.Seconds(), "items/s")
	b.ReportMetric(float64(f.syncs)/float64(b.N), "syncs/item")
}

// familyTime is the processor time of this process and its children so far, in seconds: test, agent, shims and items.
func familyTime() (seconds float64) {
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(of, &usage) // it is refused to no process
		seconds += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	}
	return seconds
}
